internal import FanfareClient
internal import FanfareCore
internal import FanfareHTTP
internal import FanfareModel
internal import Logging

/// What a request asks to send, whichever API it speaks.
struct RequestedSend {
    var kind: RecipientKind
    var recipients: [String]
    var message: [UInt8]
    var format: MessageFormat
    var validateOnly: Bool
    /// The job itself, where it is no message.
    var job: PushJob?
    var options: SendOptions
}

/// Sends for requests of every API: checks the job, finds its earlier copy, and pushes it.
struct SendRoute<Redis: RedisSending>: Sendable {
    /// How a request ended.
    enum End {
        /// The job breaks a rule; nothing was sent.
        case fault(EntryFault)
        case refused(GatewayError)
        /// The answer of an earlier request, which clients repeat by themselves.
        case answered(ServedAnswer)
        /// The results in the order of the recipients; nil for each that did not come in time.
        case results(WaitingTable<UInt64>.Place, [ServedResult?])
        case rejected(job: String, problem: String)
        /// Whether the job is in Redis is not known.
        case unknown(job: String)
    }

    let desk: SendDesk<Redis>
    let memory: DuplicateMemory<Redis>
    let served: ServedProjects<Redis>
    /// The checks of a job of a project, as its workers make them.
    let entryCheck: @Sendable (_ project: String) -> EntryCheck
    let waitMs: Int64
    let logger: Logger

    func options(_ request: WebRequest, _ key: GatewayKey) throws(V1Fault) -> SendOptions {
        try SendOptions(request.headers, maximumPriority: key.maximumPriority, waitMs: waitMs)
    }

    /// - Parameter answer: makes the answer, which is remembered if clients repeat it by themselves.
    func send(
        _ wanted: RequestedSend,
        _ request: WebRequest,
        key: GatewayKey,
        project: String,
        answer: (End) -> ServedAnswer
    ) async -> ServedAnswer {
        let join = Self.joinKey(wanted, key, project)
        let ownID = wanted.options.idempotencyKey
        let hasOwnID = ownID != nil
        do throws(EntryFault) {
            // The rules of every job.
            _ = try entryCheck(project).check(join.job(to: wanted.recipients, id: ownID, wanted.job).fields)
        } catch {
            return answer(.fault(error))
        }
        let identity = DuplicateRule.identity(
            key: key.name,
            project: project,
            path: "\(request.method) \(request.path)?\(request.queryText)",
            body: request.body
        )
        let name = memory.key(of: identity, project: project)
        var earlier: DuplicateRule.Memory?
        do {
            guard try await served.contains(project) else { return answer(.refused(.project(project))) }
            if !hasOwnID { earlier = try await memory.take(name) }
        } catch {
            logger.warning("Redis did not answer.", metadata: ["error": "\(error)"])
            return answer(.refused(Self.unavailable("Redis is away.")))
        }
        if case .answer(let known) = earlier { return answer(.answered(known)) }
        let end = await push(wanted, join, earlier) { [memory] place in
            // The client of this request is gone: its repeat gets the answer.
            if !hasOwnID { Task { await memory.keep(.job(place.job, indices: place.indices), at: name) } }
        }
        if let earlier {
            switch end {
            // The next repeat takes it over.
            case .left, .unavailable: await Task { [memory] in await memory.keep(earlier, at: name) }.value
            default: break
            }
        }
        let made: ServedAnswer
        switch end {
        case .results(let place, let results): made = answer(.results(place, results))
        case .rejected(let job, let problem): made = answer(.rejected(job: job, problem: problem))
        case .unknown(let job): made = answer(.unknown(job: job))
        case .unavailable(let cause): return answer(.refused(Self.unavailable(cause)))
        // The client does not read the answer, and its job is remembered.
        case .left: return answer(.refused(Self.unavailable("The client is gone.")))
        }
        if !hasOwnID, DuplicateRule.isRepeated(made) { await memory.keep(.answer(made), at: name) }
        return made
    }

    /// Clients that were refused together do not come back together.
    private static func unavailable(_ cause: String) -> GatewayError {
        .unavailable(cause, retryAfterMs: .random(in: 1_000...3_000))
    }

    private static func joinKey(_ wanted: RequestedSend, _ key: GatewayKey, _ project: String) -> JoinKey {
        let options = wanted.options
        var join = JoinKey(
            key: key.name,
            project: project,
            kind: wanted.kind,
            message: wanted.message,
            format: wanted.format
        )
        join.validateOnly = wanted.validateOnly
        (join.priority, join.delivery, join.expiresAt) = (options.priority, options.delivery, options.expiresAt)
        return join
    }

    private func push(
        _ wanted: RequestedSend,
        _ join: JoinKey,
        _ earlier: DuplicateRule.Memory?,
        onLeft: @escaping @Sendable (WaitingTable<UInt64>.Place) -> Void
    ) async -> SendEnd {
        // A job has one topic, condition or group.
        let isList = wanted.kind == .token || wanted.kind == .fid
        let send = WantedSend(
            key: join,
            recipients: wanted.recipients,
            id: wanted.options.idempotencyKey ?? (isList && wanted.job == nil ? nil : desk.newID()),
            job: wanted.job,
            waitNs: UInt64(wanted.options.waitMs) * 1_000_000
        )
        guard case .job(let job, let indices) = earlier, indices.count == wanted.recipients.count else {
            return await desk.send(send, onLeft: onLeft)
        }
        let place = WaitingTable<UInt64>.Place(project: join.project, job: job, indices: indices)
        return await desk.takeOver(send, at: place, onLeft: onLeft)
    }
}
