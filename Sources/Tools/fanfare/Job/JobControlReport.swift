internal import FanfareClient
internal import FanfareJSON
internal import StreamWire

/// Says what an operator's command did to one job.
struct JobControlReport {
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
    func print(_ done: String, _ isDoneAnyway: Bool = false) throws {
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
