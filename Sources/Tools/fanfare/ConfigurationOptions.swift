internal import ArgumentParser
internal import FanfareConfiguration
internal import FanfareModel
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
            throw Self.refused(error)
        }
    }

    static func refused(_ error: ConfigurationError) -> ExitCode {
        for problem in error.problems { Console.error("fanfare: configuration: \(problem)") }
        return ExitCode(Outcome.configuration.rawValue)
    }

    static func warn(_ warnings: [String]) {
        for warning in warnings { Console.error("fanfare: warning: \(warning)") }
    }
}

/// `--project`, which may be left out where there is only one.
struct ProjectOption: ParsableArguments {
    @Option(
        help: ArgumentHelp("The project; may be left out when the configuration has exactly one.", valueName: "id"),
        completion: Completion.projects
    )
    var project: String?

    func resolve(_ configuration: Configuration) throws -> String {
        if let project {
            guard ProjectID.isValid(project) else {
                throw Outcome.usage.because("--project must match \(ProjectID.pattern)")
            }
            return project
        }
        if configuration.projects.count == 1 { return configuration.projects[0].id }
        let known = Self.names(configuration)
        throw Outcome.usage.because("say which project with --project" + (known.isEmpty ? "" : " (\(known))"))
    }

    /// The same for a command that pushes a job. A project that the configuration does not have may be served by others,
    /// but a slip of the pen would make a job for which nobody ever comes.
    func resolveToPush(_ configuration: Configuration) throws -> String {
        let project = try resolve(configuration)
        if !configuration.projects.isEmpty, !configuration.projects.contains(where: { $0.id == project }) {
            let known = Self.names(configuration)
            ConfigurationOptions.warn([
                "the configuration has no project \(project), only \(known): unless other workers serve it, its jobs wait"
            ])
        }
        return project
    }

    private static func names(_ configuration: Configuration) -> String {
        configuration.projects.map(\.id).joined(separator: ", ")
    }
}
