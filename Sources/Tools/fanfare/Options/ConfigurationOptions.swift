internal import ArgumentParser
internal import FanfareConfiguration
internal import Foundation

/// The flags that every command with a configuration takes.
struct ConfigurationOptions: ParsableArguments {
    @Option(
        name: [.short, .long],
        help: ArgumentHelp(
            "The configuration file (YAML); FANFARE_CONFIG counts where it is not given.",
            valueName: "file"
        ),
        completion: Completion.configurations
    )
    var config: String?

    @Option(
        help: ArgumentHelp(
            "Where Redis is: redis://, rediss://, unix://, redis-sentinel:// or redis-cluster://. For one with a password use FANFARE_REDIS_URL or the file.",
            valueName: "url"
        )
    )
    var redis: String?

    @Option(help: ArgumentHelp("What every Redis key starts with.", valueName: "text"))
    var prefix: String?

    /// - Parameter more: flags of the command itself, by setting.
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

    /// The same, ending the command with the exit code for configuration if it cannot serve.
    func load(_ more: [String: String?] = [:]) throws -> Configuration {
        do throws(ConfigurationError) {
            return try read(more)
        } catch {
            throw Self.report(error)
        }
    }

    static func report(_ error: ConfigurationError) -> ExitCode {
        for problem in error.problems { Console.error("fanfare: configuration: \(problem)") }
        return ExitCode(Outcome.configuration.rawValue)
    }

    static func warn(_ warnings: [String]) {
        for warning in warnings { Console.error("fanfare: warning: \(warning)") }
    }
}
