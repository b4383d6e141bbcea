internal import FanfareClient
internal import FanfareCore
internal import FanfareHTTP
internal import FanfareJSON
internal import FanfareModel
internal import Logging
internal import StreamWire

/// `POST /v1/projects/{p}/jobs`: checks a job, pushes it, and waits for its end where the client asks for that.
struct JobPushes: Sendable {
    /// A job that keeps the rules of `EntryCheck`.
    private struct CheckedJob {
        var request: JobRequest
        /// nil for an audience.
        let recipients: Int?
        let project: String
        /// The name of the key that pushes it.
        let key: String
    }

    private enum Push {
        case pushed
        /// Nothing is in Redis.
        case refused
        /// Whether the job is in Redis is not known.
        case unknown
    }

    let redis: CountedRedis
    let prefix: String
    /// The checks of a job of a project, as its workers make them.
    let entryCheck: @Sendable (_ project: String) -> EntryCheck
    /// Whether Redis may have run the command that ended with the error.
    let mayBeApplied: @Sendable (any Error) -> Bool
    let nowNs: @Sendable () -> UInt64
    let newJobID: @Sendable () -> String
    let meters: GatewayMetrics
    let logger: Logger
    private let records: RequestRecords
    /// All requests of the gateway that wait, and the ones of this API among them.
    private let waits: WaitingRequests
    private let own = WaitingRequests(maximum: .max)

    /// How long a push is tried.
    private static var pushNs: UInt64 { 5_000_000_000 }
    private static var firstLook: Duration { .milliseconds(20) }
    private static var longestLook: Duration { .milliseconds(500) }
    /// Each request that waits makes all looks rarer, so that Redis is asked at most 10,000 times a second.
    private static var lookShare: Duration { .microseconds(100) }

    init(records: RequestRecords, meters: GatewayMetrics, logger: Logger, inputs: GatewayInputs) {
        (redis, prefix, self.records) = (records.redis, records.prefix, records)
        (self.meters, self.logger) = (meters, logger)
        (mayBeApplied, entryCheck) = (inputs.mayBeApplied, inputs.entryCheck)
        (nowNs, newJobID) = (inputs.nowNs, inputs.newJobID)
        waits = inputs.waits
    }

    /// - Throws: a `ProblemDetails`, or the error of Redis before anything is there.
    func answer(_ request: WebRequest, _ key: GatewayKey, _ project: String) async throws -> WebReply {
        if let refusal = request.bodyRefusal(JobRequest.maximumBytes) { return WebReply(refusal.problem) }
        guard request.isJSON else {
            // curl sends a form's type unless it is told otherwise.
            throw ProblemDetails(415, "Content-Type: must be \(OwnRoute.json)")
        }
        let query = try QueryParameters(request.queryText, ["check", "wait"])
        let waitMs = try query.number("wait", in: 0...60_000) ?? 0
        let isCheck = try query.flag("check")
        let job = try JobRequest(request.body, headers: request.headers, maximumPriority: key.maximumPriority)
        let outline: JobOutline
        do throws(EntryFault) { outline = try entryCheck(project).check(job.fields) } catch {
            throw ProblemDetails(error)
        }
        if isCheck { return .json(JSONObject([.init(key: "ok", value: true)] + outline.json.members)) }
        var checked = CheckedJob(request: job, recipients: outline.recipients, project: project, key: key.name)
        guard waitMs > 0 else {
            try await checkID(job, request, key, project)
            let id = checked.request.setMissingID(newJobID())
            return await push(checked, id) ?? pushed(id, project)
        }
        guard (outline.recipients ?? .max) <= JobRequest.maximumAwaited else {
            let rule = "wait: only for a job of at most \(JobRequest.maximumAwaited) recipients"
            throw ProblemDetails(422, outline.recipients.map { "\(rule), not \($0)" } ?? "\(rule), not an audience")
        }
        guard waits.enter() else { return .unavailable("Too many requests wait for their results.") }
        defer { waits.leave() }
        try await checkID(job, request, key, project)
        return try await pushAndWait(checked, .milliseconds(waitMs))
    }

    /// An `Idempotency-Key` belongs to one body.
    private func checkID(
        _ job: JobRequest,
        _ request: WebRequest,
        _ key: GatewayKey,
        _ project: String
    ) async throws {
        guard let id = job.id else { return }
        let path = "\(request.method) \(request.path)"
        let identity = DuplicateRule.identity(key: key.name, project: project, path: path, body: request.body)
        // An id in the body is that of every producer: pushed again, it is not sent again.
        guard try await records.claim(id, for: identity, project: project) == .taken,
            request.headers["idempotency-key"] != nil
        else { return }
        throw ProblemDetails(422, "Idempotency-Key: belongs to a request with another body")
    }

    // MARK: Push

    /// - Returns: the answer if the job is not surely in Redis.
    private func push(_ job: CheckedJob, _ id: String) async -> WebReply? {
        // The client's end cancels the request's task, which would end the pauses between the tries at once.
        let outcome = await Task { await pushUntilKnown(job.request.fields, id, job.project) }.value
        switch outcome {
        case .pushed:
            meters.pushed(recipients: job.recipients ?? 0, key: job.key)
            return nil
        case .refused: return .unavailable("Redis did not take the job.")
        case .unknown:
            let problem = ProblemDetails(504, "Whether the job is in Redis is not known.", job: id)
            return WebReply(
                problem.answer(headers: [
                    ServedAnswer.Header("Location", OwnRoute.path(ofJob: id, in: job.project)),
                    ServedAnswer.Header("X-Fanfare-Job", id), ServedAnswer.Header("X-Fanfare-Status", "unknown"),
                ])
            )
        }
    }

    /// Pushes a job until it is in Redis, or surely is not.
    private func pushUntilKnown(
        _ fields: [(name: String, value: [UInt8])],
        _ id: String,
        _ project: String
    ) async -> Push {
        var doubt = PushDoubt(untilNs: nowNs() + Self.pushNs)
        while true {
            do {
                _ = try await records.push(fields, id: id, project: project)
                return .pushed
            } catch {
                logger.warning(
                    "A push failed.",
                    metadata: ["project": "\(project)", "job": "\(id)", "error": "\(error)"]
                )
                switch doubt.failed(mayBeApplied: mayBeApplied(error), nowNs: nowNs()) {
                case .again(let pauseMs): try? await Task.sleep(for: .milliseconds(pauseMs))
                case .refused: return .refused
                case .unknown: return .unknown
                }
            }
        }
    }

    private func pushed(_ id: String, _ project: String) -> WebReply {
        let headers = [
            (name: "Location", value: OwnRoute.path(ofJob: id, in: project)), (name: "X-Fanfare-Job", value: id),
        ]
        return .json(["id": .string(id), "project": .string(project)], status: 202, headers: headers)
    }

    // MARK: Wait

    private func pushAndWait(_ job: CheckedJob, _ wait: Duration) async throws -> WebReply {
        var job = job
        let project = job.project
        let producer = FanfareProducer(redis: redis, project: project, prefix: prefix)
        // An id may be that of a job of long ago.
        var earlier: JobStatus?
        if let own = job.request.id { earlier = try await producer.status(of: own) }
        let id = job.request.setMissingID(newJobID())
        if let refusal = await push(job, id) { return refusal }
        _ = own.enter()
        defer { own.leave() }
        let deadline = ContinuousClock.now + wait
        var look = Self.firstLook
        while ContinuousClock.now < deadline, !Task.isCancelled {
            try? await Task.sleep(for: min(max(look, Self.lookShare * own.count), deadline - ContinuousClock.now))
            look = min(look * 3 / 2, Self.longestLook)
            guard let status = try? await producer.status(of: id), status.isOver, status.isNew(after: earlier) else {
                continue
            }
            if status.state == .rejected {
                throw ProblemDetails(rejection: status.reason ?? "rejected", job: id)
            }
            if let results = try? await results(of: status, producer.keys) {
                return ended(status, results, project)
            }
        }
        return pushed(id, project)
    }

    private func results(of status: JobStatus, _ keys: ProjectKeys) async throws -> [JSONValue] {
        var reader = ResultReader(redis, keys, of: status)
        var results: [JSONValue] = []
        while Int64(results.count) < status.total {
            let chunk = try await reader.next()
            results += chunk.entries.lazy.flatMap(\.results).map { .object($0.json) }
            if chunk.isEnd { break }
        }
        return results
    }

    private func ended(_ status: JobStatus, _ results: [JSONValue], _ project: String) -> WebReply {
        var object = FleetJSON.object(status)
        object["project"] = .string(project)
        object["results"] = .array(results)
        return .json(object, headers: [(name: "X-Fanfare-Job", value: status.id)])
    }
}

extension WebRequest {
    /// Whether the body is JSON by its type, or has none.
    fileprivate var isJSON: Bool {
        guard let type = headers["content-type"] else { return true }
        return type.prefix { $0 != ";" }.filter { $0 != " " }.lowercased() == OwnRoute.json
    }
}
