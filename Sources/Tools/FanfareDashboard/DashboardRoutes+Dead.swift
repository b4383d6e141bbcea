internal import FanfareClient
internal import FanfareHTTP
internal import FanfareJSON

/// The dead jobs of a project.
extension DashboardRoutes {
    private static var pageSize: Int { 50 }
    /// Entries that one request reads at most: a page of a rare kind may be empty although more follow.
    private static var maximumVisited: Int { 1_000 }

    /// The newest entries of `dead`. Pushed fields are listed by name and size only: they may be private, and large.
    func listDead(in project: String, kind: String?, before: String?) async throws -> WebReply {
        var entries: [JSONValue] = []
        var visited = 0
        var last: String?
        try await projectOperator(project).eachDeadEntry(newestFirst: true, before: before) { entry in
            if entries.count == Self.pageSize || visited == Self.maximumVisited { return false }
            visited += 1
            last = entry.id
            if let kind, entry.kind.rawValue != kind { return true }
            var object = entry.json
            object["fields"] = .array(entry.originals.map { .object(Self.size(of: $0)) })
            entries.append(.object(object))
            return true
        }
        var object: JSONObject = ["entries": .array(entries)]
        if entries.count == Self.pageSize || visited == Self.maximumVisited {
            object["before"] = last.map { .string($0) }
        }
        return .json(object)
    }

    /// An entry with the values of its fields, for users who may act.
    func showDead(_ id: String, in project: String) async throws -> WebReply {
        guard !options.isReadOnly else {
            return .error(403, "read_only", "A read-only dashboard does not show what a job holds.")
        }
        guard let entry = try await projectOperator(project).deadEntry(id) else { return Self.noSuchEntry }
        var object = entry.json
        object["fields"] = .array(
            entry.originals.map { .object(MaskedField(name: $0.name, value: $0.value).json) }
        )
        return .json(object)
    }

    private static func size(of field: (name: String, value: [UInt8])) -> JSONObject {
        ["name": .string(field.name), "bytes": .number(JSONNumber(Int64(field.value.count)))]
    }

    static var noSuchEntry: WebReply { .error(404, "no_such_entry", "That entry no longer exists.") }
}
