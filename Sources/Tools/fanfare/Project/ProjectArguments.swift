internal import ArgumentParser
internal import FanfareClient
internal import FanfareConfiguration
internal import FanfareJSON
internal import FanfareModel
internal import RedisTransport

/// What the commands on one project take.
struct ProjectArguments: ParsableArguments {
    @Argument(help: "The project's id.", completion: Completion.projects)
    var project: String

    @OptionGroup var options: ConfigurationOptions

    @Flag(help: "Print JSON.")
    var json = false

    func validate() throws {
        guard ProjectID.isValid(project) else { throw ValidationError("a project's id matches \(ProjectID.pattern)") }
    }

    /// - Parameter body: does it and says what was done.
    func run(_ body: (FanfareOperator<RedisClient>) async throws -> String) async throws {
        let configuration = try options.load()
        try await RedisSession.run(configuration) { client in
            let projectOperator = FanfareOperator(redis: client, project: project, prefix: configuration.prefix)
            // A slip of the pen must not pause a project that nobody has.
            var isKnown = configuration.projects.contains { $0.id == project }
            if !isKnown { isKnown = try await projectOperator.isKnown() }
            guard isKnown else {
                let known = try await FanfareOperator.projects(redis: client, prefix: configuration.prefix)
                let names = known.isEmpty ? "" : "; known are \(known.joined(separator: ", "))"
                throw Outcome.failed.because("project \(project): nobody has pushed to it or worked for it\(names)")
            }
            let done = try await body(projectOperator)
            if json {
                let object: JSONObject = ["project": .string(project), "outcome": .string(done)]
                Console.line(JSONValue.object(object).jsonText)
            } else {
                Console.line("project \(project): \(done)")
            }
        }
    }
}
