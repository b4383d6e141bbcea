internal import FanfareClient
internal import FanfareJSON
internal import StreamWire

/// What the page asks for beside the live picture.
struct DashboardQueries<Redis: RedisSending>: Sendable {
    let redis: Redis
    let prefix: String
    let projects: [String]

    private func projectOperator(_ project: String) -> FanfareOperator<Redis> {
        FanfareOperator(redis: redis, project: project, prefix: prefix)
    }

    /// One job by its id, in whichever projects have it.
    func search(_ id: String) async throws -> WebReply {
        var found: [JSONValue] = []
        let seen = try await FanfareOperator.projects(redis: redis, prefix: prefix)
        for project in Set(seen + projects).sorted() {
            guard let progress = try await projectOperator(project).progress(of: id) else { continue }
            found.append(.object(Self.object(progress, project)))
        }
        return .json(["jobs": .array(found)])
    }

    func job(_ id: String, in project: String) async throws -> WebReply {
        guard let progress = try await projectOperator(project).progress(of: id) else { return Self.noSuchJob }
        return .json(Self.object(progress, project))
    }

    /// - Parameter state: only jobs in it; nil for all that are not over.
    func jobs(in project: String, state: String?) async throws -> WebReply {
        let list = try await projectOperator(project).jobs(
            state: state.map { JobStatus.State(rawValue: $0) },
            limit: 100
        )
        return .json([
            "jobs": .array(list.jobs.map { .object(FleetJSON.object($0)) }), "whole": .bool(list.isWhole),
        ])
    }

    func results(of id: String, in project: String, after cursor: String?, failedOnly: Bool) async throws -> WebReply {
        guard cursor == nil || cursor.flatMap({ ResultPage.Cursor($0) }) != nil else {
            return .error(400, "bad_cursor", "There is no such page.")
        }
        let producer = FanfareProducer(redis: redis, project: project, prefix: prefix)
        guard let status = try await producer.status(of: id) else { return Self.noSuchJob }
        let page = try await ResultPage.read(
            redis,
            producer.keys,
            of: status,
            after: cursor.flatMap { ResultPage.Cursor($0) },
            failedOnly: failedOnly
        )
        var object: JSONObject = ["results": .array(page.results)]
        object["next"] = page.next.map { .string($0.text) }
        if !page.unreadable.isEmpty { object["unreadable"] = .array(page.unreadable.map { .string($0) }) }
        return .json(object)
    }

    /// The newest entries of `dead`. What was pushed is told by name and size only: it may hold what not everybody is to
    /// read, and a whole audience.
    func dead(in project: String, before: String?) async throws -> WebReply {
        let pageSize = 50
        let entries = try await projectOperator(project).deadEntries(limit: pageSize, before: before)
        let list = entries.map { entry -> JSONValue in
            var object: JSONObject = [
                "entry": .string(entry.id), "job": .string(entry.job), "kind": .string(entry.kind.rawValue),
                "reason": .string(entry.reason), "entry_id": .string(entry.entryID),
            ]
            object["at_ms"] = entry.atMs.map { .number(JSONNumber($0)) }
            let fields = entry.originals.map { field -> JSONValue in
                .object(["name": .string(field.name), "bytes": .number(JSONNumber(Int64(field.value.count)))])
            }
            object["fields"] = .array(fields)
            let evidence = entry.evidence.map { JSONObject.Member(key: $0.name, value: .string($0.value)) }
            object["evidence"] = .object(JSONObject(evidence))
            return .object(object)
        }
        var object: JSONObject = ["entries": .array(list)]
        if entries.count == pageSize { object["before"] = entries.last.map { .string($0.id) } }
        return .json(object)
    }

    static var noSuchJob: WebReply {
        .error(404, "no_such_job", "There is no such job: never pushed, not yet taken by a worker, or no longer kept.")
    }

    private static func object(_ progress: JobProgress, _ project: String) -> JSONObject {
        var object = FleetJSON.object(progress.status)
        object["project"] = .string(project)
        object["class"] = progress.jobClass.map { .string($0.rawValue) }
        object["held_by"] = progress.obstacle.map { .string($0) }
        object["rate"] = progress.resultsPerSecond.flatMap { tenths($0) }
        object["left_seconds"] = progress.remainingSeconds.flatMap { tenths($0) }
        switch progress.turn {
        case .none: break
        case .waiting(let ahead): object["ahead"] = .number(JSONNumber(Int64(ahead)))
        case .holding: object["holding"] = true
        }
        return object
    }

    private static func tenths(_ value: Double) -> JSONValue? {
        guard value.isFinite, (0..<1e12).contains(value) else { return nil }
        return .number(JSONNumber(tenths: Int64((value * 10).rounded())))
    }
}
