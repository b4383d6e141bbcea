internal import FanfareClient
internal import FanfareCore
internal import FanfareHTTP
internal import FanfareJSON
internal import FanfareModel
internal import Logging
internal import StreamWire

/// Fanfare's own API; see ``OwnRoute``. It reads Redis as the commands and the dashboard do.
struct OwnRoutes: Sendable {
    let redis: CountedRedis
    let prefix: String
    let served: ServedProjects
    let pushes: JobPushes
    let audiences: AudienceRoute
    let logger: Logger

    private static var listReads: Int { 10_000 }

    /// - Parameters:
    ///   - body: of a request whose body is read as it comes.
    ///   - admit: finds the key of the request.
    func answer(
        _ request: WebRequest,
        _ body: RequestBody?,
        _ route: OwnRoute,
        admit: (WebRequest) throws(KeyFault) -> GatewayKey
    ) async -> WebReply {
        do {
            return try await serve(request, body, route, admit)
        } catch let fault as KeyFault {
            return WebReply(fault.refusal(route.project).problem)
        } catch let problem as ProblemDetails {
            return WebReply(problem.answer())
        } catch {
            logger.warning("Redis did not answer.", metadata: ["path": "\(request.path)", "error": "\(error)"])
            return .unavailable("Redis is away.")
        }
    }

    private func serve(
        _ request: WebRequest,
        _ body: RequestBody?,
        _ route: OwnRoute,
        _ admit: (WebRequest) throws(KeyFault) -> GatewayKey
    ) async throws -> WebReply {
        if case .unknown = route {
            _ = try admit(request)
            return WebReply(GatewayError.route.problem)
        }
        guard let operation = route.operation(request.method) else {
            return WebReply(GatewayError.method(allowed: route.allowedMethods).problem)
        }
        var key: GatewayKey?
        if let right = operation.right {
            key = try admit(request)
            try key?.permit(right, on: route.project)
        }
        guard let type = AcceptedTypes(request.headers["accept"]).preferred(of: route.types) else {
            throw ProblemDetails(406, "The answer is \(route.types.joined(separator: " or ")).")
        }
        guard let key else { return WebReply(status: 200, type: OwnRoute.json, bytes: PackageResources.openapi_json) }
        guard try await served.contains(route.project) else { throw KeyFault.project }
        switch route {
        case .jobs where operation.method == "POST":
            if let cause = try await served.pressure(of: route.project) { return .unavailable(cause) }
            return try await pushes.answer(request, key, route.project)
        case .jobs(let project): return try await jobs(request, in: project)
        case .job(let project, let id): return try await job(request, id, in: project)
        case .results(let project, let id) where type == OwnRoute.ndjson:
            return try await resultLines(request, id, in: project)
        case .results(let project, let id): return try await results(request, id, in: project)
        case .feedback(let project): return try await feedback(request, in: project)
        case .control(let control, let project, let id):
            return try await change(request, control, id, in: project, by: key)
        case .audience(let project, let name):
            return try await audiences.answer(request, body, StoredAudience(name, in: project))
        case .document, .unknown: return WebReply(GatewayError.route.problem)
        }
    }

    private func jobOperator(_ project: String, by key: GatewayKey? = nil) -> FanfareOperator<CountedRedis> {
        let actor = key.map { "gateway key \($0.name)" } ?? ""
        return FanfareOperator(redis: redis, project: project, prefix: prefix, actor: actor)
    }

    // MARK: Jobs

    private func jobs(_ request: WebRequest, in project: String) async throws -> WebReply {
        let query = try QueryParameters(request.queryText, ["state", "over", "limit"])
        var filter = JobFilter(includesOver: try query.flag("over"))
        filter.states = try query.choice("state", of: OwnRoute.states).map { [JobStatus.State(rawValue: $0)] }
        let limit = Int(try query.number("limit", in: 1...1_000) ?? 100)
        let list = try await jobOperator(project).jobs(filter, limit: limit, reads: Self.listReads)
        return .json([
            "jobs": .array(list.jobs.map { .object(FleetJSON.object($0)) }), "whole": .bool(list.isWhole),
        ])
    }

    private func job(_ request: WebRequest, _ id: String, in project: String) async throws -> WebReply {
        _ = try QueryParameters(request.queryText, [])
        switch try await find(id, in: project, taken: { try await jobOperator(project).details(of: id) }) {
        case .taken(let details): return .json(FleetJSON.object(details.progress, in: project, details: details))
        case .pushed(let entry):
            var object: JSONObject = ["id": .string(id), "project": .string(project), "state": "waiting"]
            object["created_ms"] = StreamEntry.milliseconds(ofID: entry).map { .number(JSONNumber($0)) }
            object["reason"] = "no worker has taken it yet"
            return .json(object)
        }
    }

    private enum Found<Taken> {
        case taken(Taken)
        /// No worker has taken the entry.
        case pushed(entry: String)
    }

    /// Finds a job. A worker may take it after the first look, so that look is repeated.
    ///
    /// - Parameter taken: looks among the jobs that workers have taken.
    /// - Throws: the answer for a job that does not exist.
    private func find<Taken>(
        _ id: String,
        in project: String,
        taken: () async throws -> Taken?
    ) async throws -> Found<Taken> {
        if let found = try await taken() { return .taken(found) }
        if let entry = try await PushedJobSearch.find(id, redis, jobOperator(project).keys) {
            return .pushed(entry: entry)
        }
        if let found = try await taken() { return .taken(found) }
        throw ProblemDetails(404, "There is no such job, or it is no longer kept.", job: id)
    }

    private func change(
        _ request: WebRequest,
        _ control: OwnRoute.Control,
        _ id: String,
        in project: String,
        by key: GatewayKey
    ) async throws -> WebReply {
        let query = try QueryParameters(request.queryText, ["reason"])
        let reason = try query.value("reason", "must have 1 to 500 characters") { text in
            (1...500).contains(text.unicodeScalars.count) ? text : nil
        }
        let jobs = jobOperator(project, by: key)
        let found = try await find(id, in: project) {
            let reply =
                switch control {
                case .cancel: try await jobs.cancel(id, reason: reason ?? "")
                case .pause: try await jobs.pause(id, reason: reason ?? "")
                case .resume: try await jobs.resume(id, reason: reason ?? "")
                }
            return reply == .missing ? nil : reply
        }
        logger.notice(
            "A client changed a job.",
            metadata: ["action": "\(control)", "project": "\(project)", "job": "\(id)", "key": "\(key.name)"]
        )
        switch found {
        case .taken(.ok(let state)): return .json(["id": .string(id), "state": .string(state)])
        case .taken(.over(let state)):
            throw ProblemDetails(409, "The job is over already, or ending: \(state).", job: id)
        case .taken(.parked): throw ProblemDetails(409, "The job is parked: it needs an operator.", job: id)
        case .taken(.missing), .pushed: throw ProblemDetails(409, "No worker has taken the job yet.", job: id)
        }
    }

    // MARK: Results

    /// The status of a job, or its entry if no worker has taken it.
    private func status(of id: String, in project: String) async throws -> Found<JobStatus> {
        try await find(id, in: project) { try await jobOperator(project).progress(of: id)?.status }
    }

    private func filter(_ query: QueryParameters) throws -> ResultFilter {
        let word = try query.choice("status", of: ResultStatus.allCases.map(\.rawValue))
        return ResultFilter(status: word.flatMap(ResultStatus.init(rawValue:)))
    }

    private func cursor(_ query: QueryParameters) throws -> ResultPage.Cursor? {
        try query.value("after", "is no cursor of results") { ResultPage.Cursor($0) }
    }

    private func results(_ request: WebRequest, _ id: String, in project: String) async throws -> WebReply {
        let query = try QueryParameters(request.queryText, ["after", "limit", "status"])
        let (after, filter) = try (cursor(query), filter(query))
        let limit = Int(try query.number("limit", in: 1...10_000) ?? 1_000)
        let status: JobStatus
        switch try await self.status(of: id, in: project) {
        case .taken(let taken): status = taken
        case .pushed(let entry):
            // Its results are written later than its entry.
            let start = ResultPage.Cursor(entry: entry, given: 0)
            return .json(["results": .array([]), "next": .string((after ?? start).text)])
        }
        let keys = jobOperator(project).keys
        let page = try await ResultPage.read(redis, keys, of: status, after: after, filter, limit: limit)
        var object: JSONObject = ["results": .array(page.results.map { .object($0.json) })]
        var next = page.next
        if next == nil, !status.isOver { next = page.last ?? after ?? ResultPage.Cursor(entry: "0-0", given: 0) }
        object["next"] = next.map { .string($0.text) }
        return .json(object)
    }

    /// One result a line, however many there are. The stream is read as fast as the client reads.
    private func resultLines(_ request: WebRequest, _ id: String, in project: String) async throws -> WebReply {
        let query = try QueryParameters(request.queryText, ["after", "limit", "status"])
        let (after, filter) = try (cursor(query), filter(query))
        let limit = try query.number("limit", in: 1...10_000).map(Int.init) ?? .max
        guard case .taken(let status) = try await status(of: id, in: project) else {
            return WebReply(status: 200, type: OwnRoute.ndjson)
        }
        let keys = jobOperator(project).keys
        let reader = try await ResultReader.untilNow(redis, keys, of: status, from: after?.entry)
        return WebReply(status: 200, type: OwnRoute.ndjson) { write in
            var lines = ResultLines(filter: filter, after: after, left: limit)
            var reader = reader
            while lines.left > 0 {
                let chunk = try await reader.next()
                let bytes = lines.bytes(of: chunk.entries)
                if !bytes.isEmpty { try await write(bytes) }
                if chunk.isEnd { return }
                try Task.checkCancellation()
            }
        }
    }

    private func feedback(_ request: WebRequest, in project: String) async throws -> WebReply {
        let query = try QueryParameters(request.queryText, ["after", "limit"])
        let after = try query.value("after", "is no id of an entry") { Identifiers.isEntry($0) ? $0 : nil }
        let limit = Int(try query.number("limit", in: 1...1_000) ?? 1_000)
        let producer = FanfareProducer(redis: redis, project: project, prefix: prefix)
        let page = try await producer.feedback(after: after, limit: limit)
        return .json([
            "entries": .array(page.entries.map { .object($0.json) }),
            "next": .string(page.last ?? after ?? "0-0"),
        ])
    }
}

/// Makes the lines of results; each has the cursor of the results that follow.
struct ResultLines {
    let filter: ResultFilter
    let after: ResultPage.Cursor?
    /// Lines that may still be made.
    private(set) var left: Int

    init(filter: ResultFilter, after: ResultPage.Cursor?, left: Int) {
        (self.filter, self.after, self.left) = (filter, after, left)
    }

    mutating func bytes(of entries: [ResultEntry]) -> [UInt8] {
        var bytes: [UInt8] = []
        for entry in entries {
            let given = entry.id == after?.entry ? after?.given ?? 0 : 0
            for (index, result) in entry.results.enumerated().dropFirst(given) where filter.matches(result) {
                guard left > 0 else { return bytes }
                left -= 1
                var line = result.json
                line["cursor"] = .string(ResultPage.Cursor(entry: entry.id, given: index + 1).text)
                bytes.appendJSON(.object(line))
                bytes.append(UInt8(ascii: "\n"))
            }
        }
        return bytes
    }
}

extension FeedbackEntry {
    fileprivate var json: JSONObject {
        var object: JSONObject = ["id": .string(id), kind.rawValue: .string(recipient)]
        object["action"] = .string(action.rawValue)
        object["replacement"] = replacement.map { .string($0) }
        object["error"] = error.map { .string($0) }
        object["job"] = .string(job)
        return object
    }
}

extension WebReply {
    init(_ answer: ServedAnswer) {
        let headers = answer.headers.map { (name: $0.name, value: $0.value) }
        self.init(status: answer.status, type: answer.type, bytes: answer.body, headers: headers)
    }

    /// A refusal of Fanfare's own API before anything is in Redis. Clients that were refused together do not come back
    /// together.
    static func unavailable(_ cause: String) -> WebReply {
        WebReply(GatewayError.unavailable(cause, retryAfterMs: .random(in: 1_000...3_000)).problem)
    }
}
