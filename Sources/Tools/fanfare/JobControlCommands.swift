internal import ArgumentParser
internal import FanfareClient
internal import FanfareJSON
internal import StreamWire

struct JobCancelCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cancel",
        abstract: "Gives up every recipient that has no result yet.",
        discussion: """
            No new send begins later than a second after this, in any worker. The job is over when each of its recipients \
            has a result: `cancelled`, or `unknown` where the message may have arrived. It cannot be taken back. A job that no \
            worker has taken yet ends when one takes it.

            Example:
              fanfare job cancel newsletter-7 --project demo
            """
    )

    @OptionGroup var arguments: JobArguments

    func run() async throws {
        try await arguments.run { desk in
            let reply = try await desk.cancel(arguments.id)
            // Asked for twice, it is as cancelled as can be.
            let isDone = reply == .over(state: JobStatus.State.cancelled.rawValue)
            try JobControl(arguments, desk.keys.project, reply).tell("its unfinished recipients are cancelled", isDone)
        }
    }
}

struct JobPauseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause",
        abstract: "Holds a job until it is resumed.",
        discussion: """
            No new send begins later than a second after this, in any worker. A fan-out gives its slot to the next one. \
            `expires_at` goes on counting.

            Example:
              fanfare job pause newsletter-7 --project demo
            """
    )

    @OptionGroup var arguments: JobArguments

    func run() async throws {
        try await arguments.run { desk in
            try JobControl(arguments, desk.keys.project, try await desk.pause(arguments.id)).tell("paused")
        }
    }
}

struct JobResumeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume",
        abstract: "Lets a paused job go on where it was.",
        discussion: """
            A fan-out takes its old place in the queue. A job that is `parked` is resumed with `fanfare dead replay`.

            Example:
              fanfare job resume newsletter-7 --project demo
            """
    )

    @OptionGroup var arguments: JobArguments

    func run() async throws {
        try await arguments.run { desk in
            let reply = try await desk.resume(arguments.id)
            var text = "resumed"
            if case .ok(let state) = reply { text += "; it is \(state)" }
            try JobControl(arguments, desk.keys.project, reply).tell(text)
        }
    }
}

/// Says what an operator's command did to one job.
struct JobControl {
    let job: String
    let project: String
    let isJSON: Bool
    let reply: JobControlReply

    init(_ arguments: JobArguments, _ project: String, _ reply: JobControlReply) {
        (job, isJSON, self.project, self.reply) = (arguments.id, arguments.json, project, reply)
    }

    /// - Parameters:
    ///   - done: what to say when it was done.
    ///   - isDoneAnyway: true when it is no failure that the job was over.
    /// - Throws: the exit code when it was not done.
    func tell(_ done: String, _ isDoneAnyway: Bool = false) throws {
        if isJSON { Console.line(JSONValue.object(object).jsonText) }
        switch reply {
        case .ok: if !isJSON { Console.line("job \(job): \(done)") }
        case .over(let state) where isDoneAnyway: if !isJSON { Console.line("job \(job): \(state) already") }
        case .over(let state):
            let isOver = [.done, .cancelled, .expired, .rejected].contains(JobStatus.State(rawValue: state))
            throw Outcome.failed.because("job \(job): \(isOver ? "over already (\(state))" : "it is ending already")")
        case .missing: throw JobArguments.missing(job)
        case .parked: throw Outcome.failed.because(Self.parked(job, project))
        }
    }

    private var object: JSONObject {
        var object: JSONObject = ["id": .string(job), "project": .string(project)]
        func add(_ outcome: String, _ state: String? = nil) {
            object.members.append(.init(key: "outcome", value: .string(outcome)))
            if let state { object.members.append(.init(key: "state", value: .string(state))) }
        }
        switch reply {
        case .ok(let state): add("ok", state)
        case .over(let state): add("over", state)
        case .missing: add("missing")
        case .parked: add("parked", "parked")
        }
        return object
    }

    static func parked(_ job: String, _ project: String) -> String {
        "job \(job) is parked and needs a person: see `fanfare dead ls --project \(project) --job \(job)`; once the cause "
            + "is mended, `fanfare dead replay --project \(project) --job \(job)` lets it go on"
    }
}
