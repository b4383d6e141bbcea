internal import ArgumentParser
internal import FanfareConfiguration
internal import Foundation

/// The flags of every command that reads a configuration.
struct ConfigurationOptions: ParsableArguments {
    @Option(
        name: [.short, .long],
        help: .value("file", "The configuration file (YAML). Default: FANFARE_CONFIG."),
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
    func load(_ more: [String: String?] = [:]) throws(ConfigurationError) -> Configuration {
        var flags: [String: String] = more.compactMapValues { $0 }
        flags["redis.url"] = redis
        flags["prefix"] = prefix
        let environment = ProcessInfo.processInfo.environment
        return try Configuration.load(
            file: config ?? environment["FANFARE_CONFIG"].flatMap { $0.isEmpty ? nil : $0 },
            source: config == nil ? "FANFARE_CONFIG" : "--config",
            environment: environment,
            flags: flags
        )
    }

    static func warn(_ warnings: [String]) {
        for warning in warnings { Console.error("fanfare: warning: \(warning)") }
    }
}
