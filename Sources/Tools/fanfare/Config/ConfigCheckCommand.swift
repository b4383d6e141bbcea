internal import ArgumentParser
internal import FanfareConfiguration
internal import FanfareJSON
internal import FanfareModel

struct ConfigCheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Checks the configuration: file, variables, and the files they name.",
        discussion: """
            Makes no connection. Prints all problems and exits with 78 if there are any; warnings leave the exit code at 0.

            Example:
              fanfare config check -c fanfare.yaml
            """
    )

    @OptionGroup var options: ConfigurationOptions

    @Flag(help: "Print one JSON object.")
    var json = false

    func run() throws {
        let configuration: Configuration
        let secrets: Secrets
        do throws(ConfigurationError) {
            configuration = try options.load()
            secrets = try configuration.loadCheckedSecrets()
            _ = try configuration.deployment(secrets.redis)
        } catch {
            report(problems: error.problems, warnings: [])
            throw ExitCode(Outcome.configuration.rawValue)
        }
        report(problems: [], warnings: configuration.warnings + secrets.warnings, configuration)
        guard !json else { return }
        for project in configuration.projects {
            Console.line("project \(project.id): \(project.transport.rawValue), \(project.destination)")
        }
        Console.line("The configuration is fine.")
    }

    private func report(problems: [String], warnings: [String], _ configuration: Configuration? = nil) {
        if json {
            var object: JSONObject = [
                "ok": .bool(problems.isEmpty), "problems": .array(problems.map { .string($0) }),
                "warnings": .array(warnings.map { .string($0) }),
            ]
            if let projects = configuration?.projects {
                let list = projects.map { project -> JSONValue in
                    .object([
                        "id": .string(project.id), "transport": .string(project.transport.rawValue),
                        "destination": .string(project.destination),
                    ])
                }
                object["projects"] = .array(list)
            }
            Console.json(object)
        } else {
            ConfigurationOptions.warn(warnings)
            for problem in problems { Console.error("fanfare: configuration: \(problem)") }
        }
    }
}
