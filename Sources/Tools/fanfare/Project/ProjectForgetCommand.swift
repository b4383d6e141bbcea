internal import ArgumentParser
internal import FanfareClient
internal import FanfareConfiguration
internal import FanfareJSON
internal import FanfareModel
internal import FanfareRedis
internal import Glibc

struct ProjectForgetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "forget",
        abstract: "Removes what a push to a wrong project id left in Redis.",
        discussion: """
            Shows what there is, asks, deletes every key of the project and takes its id off the list of projects. Only the \
            audit list stays, with a new entry. Without a terminal, --yes is required. It cannot be undone.

            Refuses a project that a live worker serves. A project that is configured, or that a worker has served before, \
            needs --force: its jobs and results are lost. Exits with 1 if Redis holds nothing of the project.

            Examples:
              fanfare project forget shpo
              fanfare project forget shpo --yes --reason "typing error"
            """
    )

    @Argument(help: "The project's id.", completion: Completion.projects)
    var project: String

    @OptionGroup var options: ConfigurationOptions

    @Flag(help: "Do not ask for confirmation.")
    var yes = false

    @Flag(help: "Forget a project that is configured, or that a worker has served before.")
    var force = false

    @Option(help: .value("text", "Why; kept with your name in the project's audit list."))
    var reason = ""

    @Flag(help: "Print JSON.")
    var json = false

    func validate() throws {
        guard ProjectID.isValid(project) else { throw ValidationError("a project's id matches \(ProjectID.pattern)") }
        guard !Fanfare.skipsValidation else { return }
        guard yes || Console.canPrompt else {
            throw ValidationError("it cannot be undone, and there is no terminal to confirm it; give --yes")
        }
    }

    func run() async throws {
        let configuration = try options.load()
        try await RedisSession.run(configuration) { client in
            let session = ProjectSession(client: client, project: project, prefix: configuration.prefix)
            let projectOperator = session.projectOperator
            let remains = try await projectOperator.remains()
            guard !remains.isEmpty else { throw Outcome.failed.because("Redis holds nothing of project \(project)") }
            let fault = Self.fault(
                workersAlive: try await workersAlive(session),
                isConfigured: configuration.projects.contains { $0.id == project },
                wasServed: try await projectOperator.wasServed(),
                force: force
            )
            if let fault { throw Outcome.failed.because("project \(project) \(fault); nothing was removed") }
            if !json { Console.error("project \(project): \(Self.text(remains))") }
            if !yes, !Console.confirm("Delete all of it for good? [y/N] ") {
                throw Outcome.failed.because("nothing was removed")
            }
            let deleted = try await projectOperator.forget(reason: reason)
            let object: JSONObject = [
                "project": .string(project), "outcome": "forgotten", "pushed": .number(JSONNumber(remains.entries)),
                "jobs": .number(JSONNumber(remains.jobs)), "dead": .number(JSONNumber(remains.dead)),
                "keys": .number(JSONNumber(deleted)),
            ]
            let keys = deleted == 1 ? "1 key" : "\(deleted) keys"
            Console.result("project \(project): forgotten, \(keys) deleted", object, isJSON: json)
        }
    }

    /// The live workers that serve the project; 0 in a Redis without Fanfare's functions, which workers load.
    private func workersAlive(_ session: ProjectSession) async throws -> Int {
        do {
            let reader = FleetReader(redis: session.client, prefix: session.prefix, jobs: 1)
            return try await reader.read(project).workersAlive
        } catch let error as RedisError where error.code == .functionNotFound {
            return 0
        }
    }

    /// Why the project is not forgotten, as the rest of a sentence about it; nil if it is.
    static func fault(workersAlive: Int, isConfigured: Bool, wasServed: Bool, force: Bool) -> String? {
        if workersAlive > 0 {
            return "is served by \(workersAlive == 1 ? "a live worker" : "\(workersAlive) live workers"): "
                + "take it out of their configuration first"
        }
        guard !force else { return nil }
        if isConfigured { return "is configured; --force forgets it with its jobs and results" }
        if wasServed { return "was served by a worker; --force forgets it with its jobs and results" }
        return nil
    }

    static func text(_ remains: ProjectRemains) -> String {
        func count(_ number: Int64, _ one: String, _ many: String) -> String { "\(number) \(number == 1 ? one : many)" }
        return [
            count(remains.entries, "pushed job", "pushed jobs") + " not taken",
            count(remains.jobs, "job hash", "job hashes"), count(remains.dead, "dead entry", "dead entries"),
            count(remains.keys, "key", "keys") + " in all",
        ].joined(separator: ", ")
    }
}
