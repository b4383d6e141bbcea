internal import FanfareClient
internal import FanfareJSON
internal import StreamWire

/// The queries of the page, besides the live view.
extension DashboardRoutes {
    /// Finds a job by its id in all projects.
    func search(_ id: String) async throws -> WebReply {
        var found: [JSONValue] = []
        let seen = try await FanfareOperator.projects(redis: redis, prefix: options.prefix)
        for project in Set(seen + options.projects).sorted() {
            guard let progress = try await projectOperator(project).progress(of: id) else { continue }
            found.append(.object(Self.object(progress, project)))
        }
        return .json(["jobs": .array(found)])
    }

    func showJob(_ id: String, in project: String) async throws -> WebReply {
        guard let progress = try await projectOperator(project).progress(of: id) else { return Self.noSuchJob }
        return .json(Self.object(progress, project))
    }

    /// Lists up to 100 jobs.
    /// - Parameter state: lists only jobs in this state; nil for all that are not over.
    func listJobs(in project: String, state: String?) async throws -> WebReply {
        let state = state.map { JobStatus.State(rawValue: $0) }
        let list = try await projectOperator(project).jobs(state: state, limit: 100)
        return .json([
            "jobs": .array(list.jobs.map { .object(FleetJSON.object($0)) }), "whole": .bool(list.isWhole),
        ])
    }

    func results(of id: String, in project: String, after cursor: String?, failedOnly: Bool) async throws -> WebReply {
        let start = cursor.flatMap { ResultPage.Cursor($0) }
        guard cursor == nil || start != nil else {
            return .error(400, "bad_cursor", "The page cursor is not valid.")
        }
        let producer = FanfareProducer(redis: redis, project: project, prefix: options.prefix)
        guard let status = try await producer.status(of: id) else { return Self.noSuchJob }
        let page = try await ResultPage.read(redis, producer.keys, of: status, after: start, failedOnly: failedOnly)
        var object: JSONObject = ["results": .array(page.results)]
        object["next"] = page.next.map { .string($0.text) }
        if !page.unreadable.isEmpty { object["unreadable"] = .array(page.unreadable.map { .string($0) }) }
        return .json(object)
    }

    /// The newest entries of `dead`. Pushed fields are listed by name and size only: they may be private, and large.
    func listDead(in project: String, before: String?) async throws -> WebReply {
        let pageSize = 50
        let entries = try await projectOperator(project).deadEntries(limit: pageSize, before: before)
        let list = entries.map { entry -> JSONValue in
            var object = entry.json
            let fields = entry.originals.map { field -> JSONValue in
                .object(["name": .string(field.name), "bytes": .number(JSONNumber(Int64(field.value.count)))])
            }
            object["fields"] = .array(fields)
            return .object(object)
        }
        var object: JSONObject = ["entries": .array(list)]
        if entries.count == pageSize { object["before"] = entries.last.map { .string($0.id) } }
        return .json(object)
    }

    static var noSuchJob: WebReply {
        .error(
            404,
            "no_such_job",
            "There is no such job: it was never pushed, not yet taken by a worker, or is no longer kept."
        )
    }

    private static func object(_ progress: JobProgress, _ project: String) -> JSONObject {
        var object = FleetJSON.object(progress.status)
        object["project"] = .string(project)
        object["class"] = progress.jobClass.map { .string($0.rawValue) }
        object["held_by"] = progress.obstacle.map { .string($0) }
        object["rate"] = progress.resultsPerSecond.flatMap(FleetJSON.tenths)
        object["left_seconds"] = progress.remainingSeconds.flatMap(FleetJSON.tenths)
        switch progress.turn {
        case .none: break
        case .waiting(let ahead): object["ahead"] = .number(JSONNumber(Int64(ahead)))
        case .holding: object["holding"] = true
        }
        return object
    }
}
