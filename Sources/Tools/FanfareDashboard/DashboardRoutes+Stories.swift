internal import FanfareClient
internal import FanfareHTTP
internal import FanfareJSON
internal import FanfareModel

/// What operators did, and what happened to a token.
extension DashboardRoutes {
    private static var maximumAudit: Int { 200 }
    /// Calls of Redis that one request spends on the story of a token in one project.
    private static var maximumCalls: Int { 50 }
    private static var projectsAtOnce: Int { 8 }

    /// The last changes of a project, or of all projects, newest first.
    func audit(of project: String?) async throws -> WebReply {
        var entries: [(project: String, entry: AuditEntry)] = []
        for id in try await projects(project) {
            entries += try await projectOperator(id).audit(limit: Self.maximumAudit).map { (id, $0) }
        }
        entries.sort { ($0.entry.atMs, $0.project) > ($1.entry.atMs, $1.project) }
        let list = entries.prefix(Self.maximumAudit).map { project, entry -> JSONValue in
            .object([
                "at_ms": .number(JSONNumber(entry.atMs)), "project": .string(project), "actor": .string(entry.actor),
                "action": .string(entry.action), "target": .string(entry.target), "reason": .string(entry.reason),
            ])
        }
        return .json(["entries": .array(Array(list)), "whole": .bool(entries.count < Self.maximumAudit)])
    }

    /// What happened to a token, in one project or in all. The token comes in the body, so that no log and no history
    /// of a browser holds it.
    func story(_ body: JSONObject) async throws -> WebReply {
        guard let token = body["token"]?.string, Identifiers.isToken(token) else {
            return .error(400, "bad_token", "A token is 1 to 1024 of A-Z a-z 0-9 _ : . -")
        }
        let project = body["project"]?.string
        guard project.map(ProjectID.isValid) ?? true else { return Self.badID }
        let cursor = project == nil ? nil : body["cursor"]?.string
        let showsAll = !options.isReadOnly && body["unmasked"] == true
        guard cursor.map(TokenStory.isCursor) ?? true else {
            return .error(400, "bad_cursor", "The cursor is not valid; search again without one.")
        }
        let names = try await projects(project)
        var found: [JSONValue] = []
        for start in stride(from: 0, to: names.count, by: Self.projectsAtOnce) {
            let some = names[start..<min(start + Self.projectsAtOnce, names.count)]
            let stories = try await withThrowingTaskGroup(of: TokenStory.self) { group in
                for name in some {
                    group.addTask {
                        try await projectOperator(name).story(of: token, calls: Self.maximumCalls, from: cursor)
                    }
                }
                return try await group.reduce(into: [TokenStory]()) { $0.append($1) }
            }
            found += stories.sorted { $0.project < $1.project }.map { .object($0.json(showsTokens: showsAll)) }
        }
        return .json(["token": .string(TokenStory.masked(token)), "projects": .array(found)])
    }

    /// The project, or all registered and configured ones.
    func projects(_ project: String?) async throws -> [String] {
        if let project { return [project] }
        return try await FanfareOperator.projects(redis: redis, prefix: options.prefix, including: options.projects)
    }
}
