internal import ArgumentParser
internal import FanfareClient
internal import FanfareConfiguration
internal import FanfareJSON
internal import FanfareModel
internal import RedisTransport
internal import StreamWire

struct ProjectCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "project",
        abstract: "Shows, pauses and resumes projects.",
        subcommands: [ProjectListCommand.self, ProjectPauseCommand.self, ProjectResumeCommand.self]
    )
}

struct ProjectPauseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause",
        abstract: "Sends nothing of a project until it is resumed.",
        discussion: """
            No new send begins later than a second after this, in any worker. Jobs can still be pushed, and wait.

            Example:
              fanfare project pause demo --reason "wrong sender, see ticket 7"
            """
    )

    @OptionGroup var arguments: ProjectArguments

    @Option(help: ArgumentHelp("Shown to whoever asks why nothing moves.", valueName: "text"))
    var reason = ""

    func run() async throws {
        try await arguments.run { desk in
            try await desk.pauseProject(reason: reason)
            return "paused"
        }
    }
}

struct ProjectResumeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume",
        abstract: "Lets a paused project go on.",
        discussion: """
            A project that is blocked, because its credentials were refused for example, is tried again at once instead of \
            within a minute.

            Example:
              fanfare project resume demo
            """
    )

    @OptionGroup var arguments: ProjectArguments

    func run() async throws {
        try await arguments.run { desk in
            try await desk.resumeProject()
            return "resumed"
        }
    }
}

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
            let desk = FanfareOperator(redis: client, project: project, prefix: configuration.prefix)
            // A slip of the pen must not pause a project that nobody has.
            var isKnown = configuration.projects.contains { $0.id == project }
            if !isKnown { isKnown = try await desk.isKnown() }
            guard isKnown else {
                let known = try await FanfareOperator.projects(redis: client, prefix: configuration.prefix)
                let names = known.isEmpty ? "" : "; known are \(known.joined(separator: ", "))"
                throw Outcome.failed.because("project \(project): nobody has pushed to it or worked for it\(names)")
            }
            let done = try await body(desk)
            if json {
                let object: JSONObject = ["project": .string(project), "outcome": .string(done)]
                Console.line(JSONValue.object(object).jsonText)
            } else {
                Console.line("project \(project): \(done)")
            }
        }
    }
}
