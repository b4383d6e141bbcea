internal import ArgumentParser
internal import FanfareClient
internal import FanfareConfiguration
internal import FanfareJSON
internal import FanfareModel
internal import FanfareRedis

/// Arguments of the commands on one project.
struct ProjectArguments: ParsableArguments {
    @Argument(help: "The project's id.", completion: Completion.projects)
    var project: String

    @OptionGroup var options: ConfigurationOptions

    @Flag(help: "Print JSON.")
    var json = false

    func validate() throws {
        guard ProjectID.isValid(project) else { throw ValidationError("a project's id matches \(ProjectID.pattern)") }
    }

    /// Connects and runs the body, if the project is known.
    /// - Parameter done: the outcome in one word, for the output.
    func run(_ done: String, _ body: (FanfareOperator<RedisClient>) async throws -> Void) async throws {
        let configuration = try options.load()
        try await RedisSession.run(configuration) { client in
            let session = ProjectSession(client: client, project: project, prefix: configuration.prefix)
            let projectOperator = session.projectOperator
            // A misspelt id must not leave a pause in Redis.
            var isKnown = configuration.projects.contains { $0.id == project }
            if !isKnown { isKnown = try await projectOperator.isKnown() }
            guard isKnown else {
                let known = try await FanfareOperator.projects(redis: client, prefix: configuration.prefix)
                let names = known.isEmpty ? "" : "; known projects: \(known.joined(separator: ", "))"
                throw Outcome.failed.because(
                    "project \(project): no job was pushed to it and no worker has served it\(names)"
                )
            }
            try await body(projectOperator)
            let object: JSONObject = ["project": .string(project), "outcome": .string(done)]
            Console.result("project \(project): \(done)", object, isJSON: json)
        }
    }
}
