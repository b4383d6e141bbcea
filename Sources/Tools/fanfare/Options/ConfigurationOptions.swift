internal import ArgumentParser
internal import FanfareConfiguration
internal import FoundationEssentials
internal import Glibc

/// The flags of every command that reads a configuration.
struct ConfigurationOptions: ParsableArguments {
    @Option(
        name: [.short, .long],
        help: .value("file", "The configuration file (YAML). Default: FANFARE_CONFIG, then \(Configuration.places)."),
        completion: .file(extensions: ["yaml", "yml"])
    )
    var config: String?

    @Option(
        help: .value(
            "url",
            "Address of Redis: redis://, rediss://, unix://, redis-sentinel:// or redis-cluster://. Put a URL with a password into FANFARE_REDIS_URL or the file."
        )
    )
    var redis: String?

    @Option(help: .value("text", "Prefix of every Redis key."))
    var prefix: String?

    /// Reads the configuration.
    /// - Parameter more: values of the command's own flags, by the paths of settings.
    func load(_ more: [String: String?] = [:]) throws(ConfigurationError) -> Configuration { try source(more).load() }

    /// The sources of the configuration.
    /// - Parameter more: values of the command's own flags, by the paths of settings.
    func source(_ more: [String: String?] = [:]) -> ConfigurationSource {
        var flags: [String: String] = more.compactMapValues { $0 }
        flags["redis.url"] = redis
        flags["prefix"] = prefix
        let environment = ProcessInfo.processInfo.environment
        let (file, name) = Self.file(config, environment)
        return ConfigurationSource(file: file, name: name, environment: environment, flags: flags)
    }

    /// The configuration file and what names it: the flag, the variable, or itself if it was found in its usual place.
    private static func file(_ flag: String?, _ environment: [String: String]) -> (path: String?, source: String) {
        if let flag { return (flag, "--config") }
        if let named = environment["FANFARE_CONFIG"], !named.isEmpty { return (named, "FANFARE_CONFIG") }
        let found = Configuration.findFile()
        return (found, found ?? "")
    }

    /// What to do about a missing project; empty if a configuration file was read.
    static func hint(_ configuration: Configuration) -> String {
        configuration.file == nil
            ? ": there is no configuration file (\(Configuration.places)); `fanfare init` writes one" : ""
    }

    /// Prints the warnings first: one of them may be the cause of a fault.
    static func report(_ error: ConfigurationError) {
        warn(error.warnings)
        for fault in EqualCauses.joined(error.faults) + [error.hint].compactMap({ $0 }) {
            Console.error("fanfare: configuration: \(fault)")
        }
    }

    static func warn(_ warnings: [String]) {
        for warning in EqualCauses.joined(warnings) { Console.error("fanfare: warning: \(warning)") }
    }
}
