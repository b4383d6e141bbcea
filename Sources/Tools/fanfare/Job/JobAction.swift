internal import ArgumentParser
internal import FanfareClient
internal import FanfareJSON
internal import FanfareRedis
internal import StreamWire

/// A change of a job by an operator.
enum JobAction {
    case pause, resume, cancel

    /// Such as `paused`.
    var past: String {
        switch self {
        case .pause: "paused"
        case .resume: "resumed"
        case .cancel: "cancelled"
        }
    }

    func send(
        _ target: FanfareOperator<RedisClient>,
        _ id: String,
        reason: String,
        scope: PauseScope = .job
    ) async throws -> JobControlReply {
        switch self {
        case .pause: try await target.pause(id, reason: reason, scope: scope)
        case .resume: try await target.resume(id, reason: reason)
        case .cancel: try await target.cancel(id, reason: reason)
        }
    }

    /// Changes a job and prints the outcome.
    /// - Throws: the exit code for failure.
    func apply(to id: String, _ session: ProjectSession, reason: String, json: Bool) async throws {
        let reply = try await send(session.projectOperator, id, reason: reason)
        let isFree = self == .cancel ? try await freesID(reply, id, session) : false
        if json {
            var object = Self.outcome(id, reply, session.project)
            if isFree { object["id_free"] = true }
            Console.json(object)
        }
        let free = isFree ? "; no recipient had an attempt, so the id may be used again" : ""
        switch reply {
        case .ok(let state): if !json { Console.line("job \(id): \(done(state))\(free)") }
        case .over(let state) where self == .cancel && state == JobStatus.State.cancelled.rawValue:
            if !json { Console.line("job \(id): already \(state)\(free)") }
        case .over(let state): throw Outcome.failed.because("job \(id): \(Self.over(state))")
        case .missing: throw JobArguments.missing(id)
        case .parked: throw JobArguments.parked(id, session.project)
        }
    }

    /// Whether a cancelled job has freed its id. Waits a moment for the end of a job without an attempt: a worker ends it soon.
    private func freesID(_ reply: JobControlReply, _ id: String, _ session: ProjectSession) async throws -> Bool {
        switch reply {
        case .ok: break
        case .over(let state) where state == JobStatus.State.cancelled.rawValue: break
        case .over, .missing, .parked: return false
        }
        for _ in 0..<20 {
            guard let status = try await session.producer.status(of: id) else { return false }
            if status.isOver { return status.isIDFree }
            guard status.attempted == 0, status.retrying == 0 else { return false }
            try await Task.sleep(for: .milliseconds(100))
        }
        return false
    }

    static func over(_ state: String) -> String {
        let isOver = [.done, .cancelled, .expired, .rejected].contains(JobStatus.State(rawValue: state))
        return isOver ? "over already (\(state))" : "it is ending already"
    }

    private func done(_ state: String) -> String {
        switch self {
        case .pause: "paused"
        case .resume: "resumed; it is \(state)"
        case .cancel: "its unfinished recipients are cancelled"
        }
    }

    static func outcome(_ id: String, _ reply: JobControlReply, _ project: String) -> JSONObject {
        let (outcome, state): (String, String?) =
            switch reply {
            case .ok(let state): ("ok", state)
            case .over(let state): ("over", state)
            case .missing: ("missing", nil)
            case .parked: ("parked", "parked")
            }
        var object: JSONObject = ["id": .string(id), "project": .string(project), "outcome": .string(outcome)]
        object["state"] = state.map { .string($0) }
        return object
    }
}
