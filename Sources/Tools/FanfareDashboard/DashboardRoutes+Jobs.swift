internal import FanfareClient
internal import FanfareHTTP
internal import FanfareJSON
internal import StreamWire

/// The queries of the project page and the job page. Each reads a bounded part of Redis, however large the job is.
extension DashboardRoutes {
    /// Whether this dashboard may show what only users with the right to act may see.
    private var showsSecrets: Bool { !options.isReadOnly }

    /// nil if the path is none of theirs. The ids in it are valid.
    func getJobs(_ request: WebRequest, _ parts: [String]) async throws -> WebReply? {
        let project = parts[2]
        switch (parts[3], parts.count) {
        case ("history", 4): return try await history(of: project, span: request.query["span"])
        case ("finished", 4): return try await listFinished(in: project, before: request.query["before"])
        case ("jobs", 4): return try await listJobs(in: project, state: request.query["state"])
        case ("jobs", 5): return try await showJob(parts[4], in: project)
        case ("jobs", 6): break
        default: return nil
        }
        switch parts[5] {
        case "message": return try await message(of: parts[4], in: project)
        case "results": return try await results(of: parts[4], in: project, request.query)
        case "results.csv": return try await download(.csv, of: parts[4], in: project, request.query)
        case "results.ndjson": return try await download(.ndjson, of: parts[4], in: project, request.query)
        default: return nil
        }
    }

    // MARK: The project page

    private func history(of project: String, span: String?) async throws -> WebReply {
        guard let seconds = Int64(span ?? "300"), HistoryJSON.spans.contains(seconds) else {
            return .error(400, "bad_span", "span: 300, 3600 or 86400 seconds.")
        }
        let history = try await projectOperator(project).history(spanMs: seconds * 1_000)
        return .json(HistoryJSON(history: history).object)
    }

    /// Lists up to 100 jobs.
    /// - Parameter state: lists only jobs in this state; nil for all that are not over.
    private func listJobs(in project: String, state: String?) async throws -> WebReply {
        let state = state.map { JobStatus.State(rawValue: $0) }
        let list = try await projectOperator(project).jobs(state: state, limit: 100)
        return .json([
            "jobs": .array(list.jobs.map { .object(FleetJSON.object($0)) }), "whole": .bool(list.isWhole),
        ])
    }

    /// A page of the jobs that are over, newest first. `before` of the reply is that of the next page.
    private func listFinished(in project: String, before: String?) async throws -> WebReply {
        let pageSize = 50
        let beforeMs = before.flatMap { Int64($0) }
        guard before == nil || beforeMs.map({ (0...99_999_999_999_999).contains($0) }) == true else {
            return .error(400, "bad_cursor", "before: a time in Unix milliseconds.")
        }
        let jobs = try await projectOperator(project).finishedJobs(limit: pageSize, before: beforeMs)
        var object: JSONObject = ["jobs": .array(jobs.map { .object(FleetJSON.object($0)) })]
        if jobs.count >= pageSize { object["before"] = jobs.last?.finishedMs.map { .number(JSONNumber($0)) } }
        return .json(object)
    }

    // MARK: The job page

    private func showJob(_ id: String, in project: String) async throws -> WebReply {
        guard let details = try await projectOperator(project).details(of: id) else {
            guard let parts = try await projectOperator(project).parts(of: id) else {
                return try await missingJob(id, in: project)
            }
            return .json(parts.json)
        }
        var object = Self.object(details.progress, project)
        object["now_ms"] = .number(JSONNumber(details.progress.nowMs))
        if !details.progress.status.isOver, details.progress.status.retrying > 0 {
            let dueMs = try await projectOperator(project).nextRetryMs(of: id)
            object["next_retry_ms"] = dueMs.map { .number(JSONNumber($0)) }
        }
        var target: JSONObject = [
            "kind": .string(details.target.kind), "count": .number(JSONNumber(details.target.count)),
        ]
        target["name"] = details.target.name.map { .string($0) }
        object["target"] = .object(target)
        object["op"] = .string(details.operation)
        object["priority"] = .number(JSONNumber(Int64(details.priority)))
        object["expires_at_ms"] = details.expiresAtMs.map { .number(JSONNumber($0)) }
        object["validate_only"] = .bool(details.validateOnly)
        object["delivery"] = .string(details.delivery)
        object["results_policy"] = .string(details.resultsPolicy)
        object["has_message"] = .bool(details.message != nil && showsSecrets)
        object["errors"] = FleetJSON.errors(details.progress.status)
        return .json(object)
    }

    /// The reply for a job without a hash: either no worker has taken it yet, or nothing is known about it.
    private func missingJob(_ id: String, in project: String) async throws -> WebReply {
        let keys = projectOperator(project).keys
        guard let entry = try await PushedJobSearch.find(id, redis, keys) else { return Self.noSuchJob }
        var object: JSONObject = ["error": .string("not_taken"), "entry": .string(entry)]
        object["message"] = "The job was pushed, and no worker has taken it yet."
        object["pushed_ms"] = StreamEntry.milliseconds(ofID: entry).map { .number(JSONNumber($0)) }
        return .json(object, status: 404)
    }

    private func message(of id: String, in project: String) async throws -> WebReply {
        guard showsSecrets else { return .error(403, "read_only", "This dashboard is read-only: it shows no message.") }
        guard let details = try await projectOperator(project).details(of: id) else { return Self.noSuchJob }
        guard let bytes = details.message else {
            return .error(404, "no_message", "The message is not kept: a job keeps it until it is over.")
        }
        guard let value = try? JSONParser.parse(bytes, limits: JSONLimits()) else {
            return .error(404, "no_message", "The stored message is not JSON.")
        }
        return .json(["text": .string(PrettyJSON.text(Masking.message(value)))])
    }

    private func results(of id: String, in project: String, _ query: [String: String]) async throws -> WebReply {
        let start = query["after"].flatMap { ResultPage.Cursor($0) }
        guard query["after"] == nil || start != nil else {
            return .error(400, "bad_cursor", "The page cursor is not valid.")
        }
        guard let filter = ResultFilter(query) else { return Self.badFilter }
        let producer = FanfareProducer(redis: redis, project: project, prefix: options.prefix)
        guard let status = try await producer.status(of: id) else { return Self.noSuchJob }
        let page = try await ResultPage.read(redis, producer.keys, of: status, after: start, filter)
        var object: JSONObject = [
            "results": .array(page.results.map { .object(Masking.object($0, isMasked: !showsSecrets)) })
        ]
        object["next"] = page.next.map { .string($0.text) }
        if !page.unreadable.isEmpty { object["unreadable"] = .array(page.unreadable.map { .string($0) }) }
        return .json(object)
    }

    private func download(
        _ format: ResultDownload<Redis>.Format,
        of id: String,
        in project: String,
        _ query: [String: String]
    ) async throws -> WebReply {
        guard let filter = ResultFilter(query) else { return Self.badFilter }
        let producer = FanfareProducer(redis: redis, project: project, prefix: options.prefix)
        guard let status = try await producer.status(of: id) else { return Self.noSuchJob }
        guard let slot = downloads.acquire() else {
            let headers = [(name: "Retry-After", value: "10")]
            return .error(503, "full", "Too many downloads run at once; try again in a moment.", headers: headers)
        }
        let download = ResultDownload(
            reader: try await .untilNow(redis, producer.keys, of: status),
            filter: filter,
            format: format,
            isMasked: !showsSecrets
        )
        let name = "\(project)-\(id.replacing(":", with: "_"))-results.\(format.rawValue)"
        let headers = [(name: "Content-Disposition", value: "attachment; filename=\"\(name)\"")]
        return WebReply(status: 200, type: format.type, headers: headers) { write in
            defer { withExtendedLifetime(slot) {} }
            try await download.write(to: write)
        }
    }

    private static var badFilter: WebReply {
        .error(
            400,
            "bad_filter",
            "status: sent, failed, unknown, cancelled or expired. error: a code such as UNREGISTERED."
        )
    }

    /// The fields of a job's hash, and its rate, place and what holds it.
    static func object(_ progress: JobProgress, _ project: String) -> JSONObject {
        var object = FleetJSON.object(progress.status)
        object["project"] = .string(project)
        object["class"] = progress.jobClass.map { .string($0.rawValue) }
        object["held_by"] = progress.heldBy.map { .string($0) }
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
