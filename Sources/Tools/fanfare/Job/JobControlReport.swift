internal import FanfareClient
internal import FanfareJSON
internal import StreamWire

/// Prints the outcome of cancelling, pausing or resuming a job.
struct JobControlReport {
    let job: String
    let project: String
    let isJSON: Bool
    let reply: JobControlReply

    init(_ arguments: JobArguments, _ project: String, _ reply: JobControlReply) {
        (job, isJSON, self.project, self.reply) = (arguments.id, arguments.json, project, reply)
    }

    /// - Parameters:
    ///   - done: the text for success.
    ///   - isDoneAnyway: whether a job that is over counts as a success.
    /// - Throws: the exit code for failure.
    func print(_ done: String, _ isDoneAnyway: Bool = false) throws {
        if isJSON { Console.line(JSONValue.object(object).jsonText) }
        switch reply {
        case .ok: if !isJSON { Console.line("job \(job): \(done)") }
        case .over(let state) where isDoneAnyway: if !isJSON { Console.line("job \(job): already \(state)") }
        case .over(let state):
            let isOver = [.done, .cancelled, .expired, .rejected].contains(JobStatus.State(rawValue: state))
            throw Outcome.failed.because("job \(job): \(isOver ? "over already (\(state))" : "it is ending already")")
        case .missing: throw JobArguments.missing(job)
        case .parked: throw Outcome.failed.because(Self.parked(job, project))
        }
    }

    private var object: JSONObject {
        let (outcome, state): (String, String?) =
            switch reply {
            case .ok(let state): ("ok", state)
            case .over(let state): ("over", state)
            case .missing: ("missing", nil)
            case .parked: ("parked", "parked")
            }
        var object: JSONObject = ["id": .string(job), "project": .string(project), "outcome": .string(outcome)]
        object["state"] = state.map { .string($0) }
        return object
    }

    static func parked(_ job: String, _ project: String) -> String {
        "job \(job) is parked and needs an operator: see `fanfare dead ls --project \(project) --job \(job)`; correct the "
            + "cause, then resume it with `fanfare dead replay --project \(project) --job \(job)`"
    }
}
