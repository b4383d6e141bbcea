internal import ArgumentParser
internal import FCMWire
internal import FanfareConfiguration
internal import FanfareCore
internal import FanfareJSON
internal import FanfareModel

struct ConfigCheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Checks the configuration: file, variables, and the files they name.",
        discussion: """
            Makes no connection. Prints all warnings and problems, to standard error. Exits with 78 if there is a problem, \
            and with 0 if there are only warnings.

            Example:
              fanfare config check
            """
    )

    @OptionGroup var options: ConfigurationOptions

    @Flag(help: "Print one JSON object.")
    var json = false

    func run() throws {
        let configuration: Configuration
        let secrets: Secrets
        let gateway: GatewayFiles
        do throws(ConfigurationError) {
            configuration = try options.load()
            secrets = try configuration.loadCheckedSecrets()
            _ = try configuration.deployment(secrets.redis)
            gateway = try configuration.loadGateway()
            _ = try configuration.gateway.identity()
        } catch {
            report(error)
            throw ExitCode(Outcome.configuration.rawValue)
        }
        let concerns = secrets.concerns + gateway.concerns.filter { !secrets.concerns.contains($0) }
        let warnings = configuration.warnings + concerns.map(\.sentence)
        report(ConfigurationError(faults: [], warnings: warnings), configuration, secrets, gateway)
        guard !json else { return }
        if let file = configuration.file { Console.line("file \(file)") }
        for project in configuration.projects {
            let credential = secrets.credentials[project.id]
            let identity = credential?.kind == .serviceAccount ? "" : credential.map { ", \($0)" } ?? ""
            Console.line("project \(project.id): \(project.transport.rawValue), \(project.destination)\(identity)")
        }
        if configuration.gateway.keysFolder != nil {
            let count = gateway.keys.keys.count
            Console.line("gateway \(configuration.gateway.listen): \(count == 1 ? "1 key" : "\(count) keys")")
        }
        if let telemetry = TelemetryLine(configuration.telemetry) { Console.line(telemetry.text) }
        let count = warnings.count == 1 ? "1 warning" : "\(warnings.count) warnings"
        Console.line(warnings.isEmpty ? "The configuration is fine." : "The configuration can be used, with \(count).")
    }

    private func report(
        _ found: ConfigurationError,
        _ configuration: Configuration? = nil,
        _ secrets: Secrets? = nil,
        _ gateway: GatewayFiles? = nil
    ) {
        if json {
            var object: JSONObject = [
                "ok": .bool(found.faults.isEmpty), "problems": .array(found.faults.map { .string($0) }),
                "warnings": .array(found.warnings.map { .string($0) }),
            ]
            object["file"] = configuration?.file.map { .string($0) }
            if let projects = configuration?.projects {
                let list = projects.map { project -> JSONValue in
                    var listed: JSONObject = [
                        "id": .string(project.id), "transport": .string(project.transport.rawValue),
                        "destination": .string(project.destination),
                    ]
                    listed["credentials"] = secrets?.credentials[project.id].map { .string($0.kind.rawValue) }
                    return .object(listed)
                }
                object["projects"] = .array(list)
            }
            if let settings = configuration?.gateway, settings.keysFolder != nil, let gateway {
                object["gateway"] = .object([
                    "listen": .string("\(settings.listen)"),
                    "keys": .number(JSONNumber(Int64(gateway.keys.keys.count))),
                ])
            }
            object["telemetry"] = configuration.flatMap { TelemetryLine($0.telemetry) }?.json
            Console.json(object)
        } else {
            ConfigurationOptions.report(found)
        }
    }
}
