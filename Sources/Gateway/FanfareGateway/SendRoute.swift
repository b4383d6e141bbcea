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
    var job: PreparedJob?
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
    let served: ServedProjects<Redis>
    /// The checks of a job of a project, as its workers make them.
    let entryCheck: @Sendable (_ project: String) -> EntryCheck
    let waitMs: Int64
    let logger: Logger

    func options(_ request: WebRequest, _ key: GatewayKey) throws(V1Fault) -> SendOptions {
        try SendOptions(request.headers, maximumPriority: key.maximumPriority, waitMs: waitMs)
    }

    /// - Parameter answer: makes the answer.
    func send(
        _ wanted: RequestedSend,
        _ request: WebRequest,
        key: GatewayKey,
        project: String,
        answer: (End) -> ServedAnswer
    ) async -> GatewayReply {
        func refused(_ refusal: GatewayError) -> GatewayReply { GatewayReply(answer(.refused(refusal))) }
        let join = Self.joinKey(wanted, key, project)
        let ownID = wanted.options.idempotencyKey
        do throws(EntryFault) {
            // The rules of every job.
            _ = try entryCheck(project).check(join.job(to: wanted.recipients, id: ownID, wanted.job).fields)
        } catch {
            return GatewayReply(answer(.fault(error)))
        }
        let identity = DuplicateRule.identity(
            key: key.name,
            project: project,
            path: "\(request.method) \(request.path)?\(request.queryText)",
            body: request.body
        )
        var earlier: JobStatus?
        do {
            guard try await served.contains(project) else { return refused(.project(project)) }
            if let cause = try await served.pressure(of: project) { return refused(Self.unavailable(cause)) }
            if let ownID {
                if try await desk.records.isTaken(ownID, by: identity, project: project) {
                    return GatewayReply(
                        answer(.fault(EntryFault("id", "belongs to a request with another key or body")))
                    )
                }
                earlier = try await desk.records.status(of: ownID, project: project)
            }
        } catch {
            logger.warning("Redis did not answer.", metadata: ["error": "\(error)"])
            return refused(Self.unavailable("Redis is away."))
        }
        // A job has one topic, condition or group.
        let isList = wanted.kind == .token || wanted.kind == .fid
        let send = WantedSend(
            key: join,
            recipients: wanted.recipients,
            id: ownID ?? (isList && wanted.job == nil ? nil : desk.newJobID()),
            job: wanted.job,
            waitNs: UInt64(wanted.options.waitMs) * 1_000_000,
            recordKey: ownID == nil ? desk.records.key(of: identity, project: project) : nil,
            earlier: earlier
        )
        let (number, end) = await desk.send(send)
        if end.sendsNothing, let ownID { await desk.records.free(ownID, project: project) }
        return await reply(to: number, end, project, answer)
    }

    private func reply(
        to request: UInt64,
        _ end: SendEnd,
        _ project: String,
        _ answer: (End) -> ServedAnswer
    ) async -> GatewayReply {
        let made: ServedAnswer
        switch end {
        case .results(let place, let results): made = answer(.results(place, results))
        case .rejected(let job, let problem): made = answer(.rejected(job: job, problem: problem))
        case .unknown(let job): made = answer(.unknown(job: job))
        case .foreign: made = answer(.fault(EntryFault("id", "belongs to another job")))
        case .answered(let earlier): return GatewayReply(answer(.answered(earlier)))
        case .unavailable(let cause): return GatewayReply(answer(.refused(Self.unavailable(cause))))
        // The client does not read the answer, and its job is remembered.
        case .left: return GatewayReply(answer(.refused(Self.unavailable("The client left."))))
        }
        if DuplicateRule.isRepeated(made) {
            desk.end(request, .answered(made), project: project)
            return GatewayReply(made)
        }
        return GatewayReply(made) { [desk] isWritten in
            desk.end(request, isWritten ? .written : .left, project: project)
        }
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
        join.trace = options.trace
        return join
    }
}

/// An answer, and what is told of its way to the client.
struct GatewayReply: Sendable {
    var answer: ServedAnswer
    /// Called once: with true when the answer is written, with false when the client left before.
    var onEnd: (@Sendable (_ isWritten: Bool) -> Void)?

    init(_ answer: ServedAnswer, onEnd: (@Sendable (_ isWritten: Bool) -> Void)? = nil) {
        (self.answer, self.onEnd) = (answer, onEnd)
    }
}
