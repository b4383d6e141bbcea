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
        /// An equal request was answered so, which clients repeat by themselves.
        case answered(ServedAnswer)
        case sent(SendEnd)
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
        do throws(EntryFault) {
            try check(wanted, project)
        } catch {
            return answer(.fault(error))
        }
        let hasOwnID = wanted.options.idempotencyKey != nil
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
        let end = await push(wanted, key, project, earlier) { [memory] place in
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
        if case .unavailable(let cause) = end { return answer(.refused(Self.unavailable(cause))) }
        let made = answer(.sent(end))
        // Nobody reads the answer, and what is remembered is the job.
        if case .left = end { return made }
        if !hasOwnID, DuplicateRule.isRepeated(made) { await memory.keep(.answer(made), at: name) }
        return made
    }

    /// Clients that were refused together do not come back together.
    private static func unavailable(_ cause: String) -> GatewayError {
        .unavailable(cause, retryAfterMs: .random(in: 1_000...3_000))
    }

    private func push(
        _ wanted: RequestedSend,
        _ key: GatewayKey,
        _ project: String,
        _ earlier: DuplicateRule.Memory?,
        onLeft: @escaping @Sendable (WaitingTable<UInt64>.Place) -> Void
    ) async -> SendEnd {
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
        // A job has one topic, condition or group.
        let isList = wanted.kind == .token || wanted.kind == .fid
        let send = WantedSend(
            key: join,
            recipients: wanted.recipients,
            id: options.idempotencyKey ?? (isList && wanted.job == nil ? nil : desk.newID()),
            job: wanted.job,
            waitNs: UInt64(options.waitMs) * 1_000_000
        )
        guard case .job(let job, let indices) = earlier, indices.count == wanted.recipients.count else {
            return await desk.send(send, onLeft: onLeft)
        }
        let place = WaitingTable<UInt64>.Place(project: project, job: job, indices: indices)
        return await desk.takeOver(send, at: place, onLeft: onLeft)
    }

    /// The rules of every job, of the fields that the request becomes.
    private func check(_ wanted: RequestedSend, _ project: String) throws(EntryFault) {
        let key = JoinKey(key: "", project: project, kind: wanted.kind, message: wanted.message)
        var job = wanted.job ?? PushJob(target: key.target(wanted.recipients), message: wanted.message)
        if wanted.job == nil { (job.format, job.validateOnly) = (wanted.format, wanted.validateOnly) }
        job.id = wanted.options.idempotencyKey
        _ = try entryCheck(project).check(job.fields)
    }
}
