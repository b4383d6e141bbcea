internal import FanfareClient
internal import FanfareJSON
internal import Logging
internal import StreamWire

/// The actions of the page. They have the same effects and replies as the commands.
extension DashboardRoutes {
    /// Pauses or resumes a project; nil for any other action.
    func changeProject(_ action: String, _ project: String, _ body: JSONObject) async throws -> WebReply? {
        guard ["pause", "resume"].contains(action) else { return nil }
        var isKnown = options.projects.contains(project)
        if !isKnown { isKnown = try await projectOperator(project).isKnown() }
        guard isKnown else {
            return .error(404, "no_such_project", "No job was pushed to that project and no worker has served it.")
        }
        log(action, project)
        if action == "resume" {
            try await projectOperator(project).resumeProject()
            return .json(["outcome": "resumed"])
        }
        let reason = String((body["reason"]?.string ?? "").prefix(200))
        try await projectOperator(project).pauseProject(reason: reason)
        return .json(["outcome": "paused"])
    }

    func changeJob(_ action: String, _ id: String, in project: String) async throws -> WebReply? {
        let change: (FanfareOperator<Redis>) async throws -> JobControlReply
        switch action {
        case "pause": change = { try await $0.pause(id) }
        case "resume": change = { try await $0.resume(id) }
        case "cancel": change = { try await $0.cancel(id) }
        default: return nil
        }
        log(action, project, id)
        switch try await change(projectOperator(project)) {
        case .ok(let state): return .json(["outcome": "ok", "state": .string(state)])
        case .over(let state): return .error(409, "over", "The job is over already, or ending: \(state).")
        case .missing: return Self.noSuchJob
        case .parked:
            return .error(409, "parked", "The job needs an operator: replay or drop its entry among the dead jobs.")
        }
    }

    func treatEntry(_ action: String, _ entry: String, in project: String) async throws -> WebReply? {
        switch action {
        case "replay":
            log(action, project, entry)
            switch try await projectOperator(project).replay(entry) {
            case .resumed(let job): return .json(["outcome": "resumed", "job": .string(job)])
            case .pushed(let entryID): return .json(["outcome": "pushed", "entry_id": .string(entryID)])
            case .missing: return Self.noSuchEntry
            case .gone: return .error(409, "gone", "That job has nothing left to replay.")
            case .busy:
                return .error(409, "busy", "A job with the same id is not over yet; replay this one when it is.")
            }
        case "drop":
            log(action, project, entry)
            switch try await projectOperator(project).drop(entry) {
            case .dropped(let job): return .json(["outcome": "dropped", "job": .string(job)])
            case .missing: return Self.noSuchEntry
            }
        default: return nil
        }
    }

    private func log(_ action: String, _ project: String, _ target: String = "") {
        logger.notice(
            "An operator acted on the dashboard.",
            metadata: ["action": "\(action)", "project": "\(project)", "target": "\(target)"]
        )
    }

    private static var noSuchEntry: WebReply { .error(404, "no_such_entry", "That entry no longer exists.") }
}
