internal import FanfareClient
internal import FanfareJSON
internal import StreamWire

/// What the page may change: the same steps, and the same answers, as those of the command line.
struct DashboardActions<Redis: RedisSending>: Sendable {
    let redis: Redis
    let prefix: String
    /// Those that are there though nobody may have seen them yet.
    let projects: [String]
    /// Notes who did what.
    let onAction: @Sendable (_ action: String, _ project: String, _ target: String) -> Void

    private func projectOperator(_ project: String) -> FanfareOperator<Redis> {
        FanfareOperator(redis: redis, project: project, prefix: prefix)
    }

    /// nil when there is no such action.
    func project(_ action: String, _ project: String, _ body: JSONObject) async throws -> WebReply? {
        guard ["pause", "resume"].contains(action) else { return nil }
        var isKnown = projects.contains(project)
        if !isKnown { isKnown = try await projectOperator(project).isKnown() }
        guard isKnown else {
            return .error(404, "no_such_project", "Nobody has pushed to that project or worked for it.")
        }
        switch action {
        case "pause":
            let reason = String((body["reason"]?.string ?? "").prefix(200))
            onAction(action, project, "")
            try await projectOperator(project).pauseProject(reason: reason)
            return .json(["outcome": "paused"])
        default:
            onAction(action, project, "")
            try await projectOperator(project).resumeProject()
            return .json(["outcome": "resumed"])
        }
    }

    func job(_ action: String, _ id: String, in project: String) async throws -> WebReply? {
        let reply: JobControlReply
        switch action {
        case "pause", "resume", "cancel": onAction(action, project, id)
        default: return nil
        }
        switch action {
        case "pause": reply = try await projectOperator(project).pause(id)
        case "resume": reply = try await projectOperator(project).resume(id)
        default: reply = try await projectOperator(project).cancel(id)
        }
        switch reply {
        case .ok(let state): return .json(["outcome": "ok", "state": .string(state)])
        case .over(let state): return .error(409, "over", "The job is over already, or ending: \(state).")
        case .missing: return DashboardQueries<Redis>.noSuchJob
        case .parked: return .error(409, "parked", "The job needs a person: replay or drop its entry among the dead.")
        }
    }

    func dead(_ action: String, _ entry: String, in project: String) async throws -> WebReply? {
        switch action {
        case "replay":
            onAction(action, project, entry)
            switch try await projectOperator(project).replay(entry) {
            case .resumed(let job): return .json(["outcome": "resumed", "job": .string(job)])
            case .pushed(let entryID): return .json(["outcome": "pushed", "entry_id": .string(entryID)])
            case .missing: return Self.noSuchEntry
            case .gone: return .error(409, "gone", "Nothing of that job is left to replay.")
            case .busy: return .error(409, "busy", "A job of the same id is not over yet; replay this one afterwards.")
            }
        case "drop":
            onAction(action, project, entry)
            switch try await projectOperator(project).drop(entry) {
            case .dropped(let job): return .json(["outcome": "dropped", "job": .string(job)])
            case .missing: return Self.noSuchEntry
            }
        default: return nil
        }
    }

    private static var noSuchEntry: WebReply { .error(404, "no_such_entry", "That entry is not there any more.") }
}
