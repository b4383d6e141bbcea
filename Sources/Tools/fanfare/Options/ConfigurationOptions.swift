internal import ArgumentParser
internal import FanfareConfiguration
internal import Foundation

/// The flags of every command that reads a configuration.
struct ConfigurationOptions: ParsableArguments {
    @Option(
        name: [.short, .long],
        help: ArgumentHelp(
            "The configuration file (YAML). Default: FANFARE_CONFIG.",
            valueName: "file"
        ),
        completion: Completion.configurations
    )
    var config: String?

    @Option(
        help: ArgumentHelp(
            "Address of Redis: redis://, rediss://, unix://, redis-sentinel:// or redis-cluster://. Put a URL with a password into FANFARE_REDIS_URL or the file.",
            valueName: "url"
        )
    )
    var redis: String?

    @Option(help: ArgumentHelp("Prefix of every Redis key.", valueName: "text"))
    var prefix: String?

    /// Reads the configuration.
    /// - Parameter more: values of the command's own flags, by the paths of settings.
    func read(_ more: [String: String?] = [:]) throws(ConfigurationError) -> Configuration {
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

    /// Reads the configuration; prints its problems and throws the exit code for configuration if there are any.
    func load(_ more: [String: String?] = [:]) throws -> Configuration {
        do throws(ConfigurationError) {
            return try read(more)
        } catch {
            throw Self.report(error)
        }
    }

    /// Prints the problems and returns the exit code to throw.
    static func report(_ error: ConfigurationError) -> ExitCode {
        for problem in error.problems { Console.error("fanfare: configuration: \(problem)") }
        return ExitCode(Outcome.configuration.rawValue)
    }

    static func warn(_ warnings: [String]) {
        for warning in warnings { Console.error("fanfare: warning: \(warning)") }
    }
}
