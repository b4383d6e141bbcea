internal import FanfareClient
internal import FanfareHTTP
internal import FanfareJSON
internal import Logging
internal import StreamWire

/// A change that a user asks for: who asks, and why.
struct Change: Sendable {
    static let maximumReason = 200

    let actor: String
    let reason: String
    let body: JSONObject

    init(actor: String, body: JSONObject) {
        self.actor = actor
        self.body = body
        reason = String((body["reason"]?.string ?? "").prefix(Self.maximumReason))
    }
}

/// The actions of the page. They have the same effects and replies as the commands.
extension DashboardRoutes {
    private func target(_ project: String, _ change: Change) -> FanfareOperator<Redis> {
        FanfareOperator(redis: redis, project: project, prefix: options.prefix, actor: change.actor)
    }

    /// Pauses or resumes a project; nil for any other action.
    func changeProject(_ action: String, _ project: String, _ change: Change) async throws -> WebReply? {
        guard ["pause", "resume"].contains(action) else { return nil }
        var isKnown = options.projects.contains(project)
        if !isKnown { isKnown = try await projectOperator(project).isKnown() }
        guard isKnown else {
            return .error(404, "no_such_project", "No job was pushed to that project and no worker has served it.")
        }
        log(action, change, project)
        if action == "resume" {
            try await target(project, change).resumeProject(reason: change.reason)
            return .json(["outcome": "resumed"])
        }
        try await target(project, change).pauseProject(reason: change.reason)
        return .json(["outcome": "paused"])
    }

    func changeJob(_ action: String, _ id: String, in project: String, _ change: Change) async throws -> WebReply? {
        let jobs = target(project, change)
        let reply: JobControlReply
        switch action {
        case "pause", "resume", "cancel": log(action, change, project, id)
        default: return nil
        }
        switch action {
        case "pause": reply = try await jobs.pause(id, reason: change.reason)
        case "resume": reply = try await jobs.resume(id, reason: change.reason)
        default: reply = try await jobs.cancel(id, reason: change.reason)
        }
        switch reply {
        case .ok(let state): return .json(["outcome": "ok", "state": .string(state)])
        case .over(let state): return .error(409, "over", "The job is over already, or ending: \(state).")
        case .missing: return Self.noSuchJob
        case .parked:
            return .error(409, "parked", "The job needs an operator: replay or drop its entry among the dead jobs.")
        }
    }

    func treatEntry(_ action: String, _ entry: String, in project: String, _ change: Change) async throws -> WebReply? {
        if ["replay", "push"].contains(action), !options.projects.contains(project) {
            let wasServed = try await projectOperator(project).wasServed()
            guard wasServed else { return .error(409, "unserved_project", "No worker has ever served that project.") }
        }
        switch action {
        case "replay":
            log(action, change, project, entry)
            return Self.reply(try await target(project, change).replay(entry, reason: change.reason))
        case "push":
            guard let dead = try await projectOperator(project).deadEntry(entry) else { return Self.noSuchEntry }
            let fields: [EditedEntry.Field]
            do throws(EditedEntry.EditError) {
                fields = try EditedEntry.fields(of: dead, changes: change.body["changes"])
            } catch {
                return .error(400, "bad_field", error.message)
            }
            log("push_edited", change, project, entry)
            return Self.reply(
                try await target(project, change).pushEdited(entry, fields: fields, reason: change.reason)
            )
        case "drop":
            log(action, change, project, entry)
            switch try await target(project, change).drop(entry, reason: change.reason) {
            case .dropped(let job): return .json(["outcome": "dropped", "job": .string(job)])
            case .missing: return Self.noSuchEntry
            }
        default: return nil
        }
    }

    private static func reply(_ reply: ReplayReply) -> WebReply {
        switch reply {
        case .resumed(let job): return .json(["outcome": "resumed", "job": .string(job)])
        case .pushed(let entryID): return .json(["outcome": "pushed", "entry_id": .string(entryID)])
        case .missing: return noSuchEntry
        case .gone: return .error(409, "gone", "That job has nothing left to replay.")
        case .busy:
            return .error(409, "busy", "A job with the same id is not over yet; push this one when it is.")
        }
    }

    private func log(_ action: String, _ change: Change, _ project: String, _ target: String = "") {
        logger.notice(
            "An operator acted on the dashboard.",
            metadata: [
                "action": "\(action)", "project": "\(project)", "target": "\(target)", "actor": "\(change.actor)",
                "reason": "\(change.reason)",
            ]
        )
    }
}
