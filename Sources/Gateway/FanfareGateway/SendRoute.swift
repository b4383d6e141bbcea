internal import FanfareClient
internal import FanfareCore
internal import FanfareHTTP
internal import FanfareModel
internal import Logging
internal import NIOConcurrencyHelpers

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
struct SendRoute: Sendable {
    /// How a request ended.
    enum End {
        /// The job breaks a rule; nothing was sent.
        case fault(EntryFault)
        case refused(GatewayError)
        /// The answer of an earlier request, which clients repeat by themselves.
        case answered(ServedAnswer)
        /// The results in the order of the recipients; nil for each that did not come in time.
        case results(WaitingTable.Place, [ServedResult?])
        case rejected(job: String, problem: String)
        /// Whether the job is in Redis is not known.
        case unknown(job: String)
    }

    let desk: SendDesk
    let served: ServedProjects
    /// The checks of a job of a project, as its workers make them.
    let entryCheck: @Sendable (_ project: String) -> EntryCheck
    let waitMs: Int64
    let logger: Logger
    /// Messages to tokens that were sent a moment ago and break no rule.
    private let checked = NIOLockedValueBox<Set<JoinKey>>([])
    private static let maximumChecked = 64
    private static let maximumKeptBytes = 4_096

    func options(_ request: WebRequest, _ key: GatewayKey) throws(V1Fault) -> SendOptions {
        try SendOptions(request.headers, maximumPriority: key.maximumPriority, waitMs: waitMs)
    }

    /// Begins a send. While the request waits for its results, only its recipients are held.
    ///
    /// - Parameters:
    ///   - answer: makes the answer.
    ///   - reply: called once with the answer, on any thread.
    /// - Returns: what to call when the client leaves.
    func send(
        _ wanted: RequestedSend,
        _ call: SendCall,
        answer: @escaping @Sendable (End) -> ServedAnswer,
        reply: @escaping @Sendable (GatewayReply) -> Void
    ) -> @Sendable () -> Void {
        let (request, key, project) = (call.request, call.key, call.project)
        let join = Self.joinKey(wanted, key, project)
        let ownID = wanted.options.idempotencyKey
        do throws(EntryFault) { try check(wanted, join, id: ownID) } catch {
            return GatewayReply(answer(.fault(error))).end(reply)
        }
        let identity = DuplicateRule.identity(
            key: key.name,
            project: project,
            path: "\(request.method) \(request.path)?\(request.queryText)",
            body: request.body
        )
        // A job has one topic, condition or group.
        let isList = wanted.kind == .token || wanted.kind == .fid
        let send = WantedSend(
            key: join,
            recipients: wanted.recipients,
            id: ownID ?? (isList && wanted.job == nil ? nil : desk.newJobID()),
            job: wanted.job,
            waitNs: UInt64(wanted.options.waitMs) * 1_000_000,
            recordKey: ownID == nil ? desk.records.key(of: identity, project: project) : nil,
            tally: call.tally,
            body: request.held
        )
        guard let number = desk.begin() else {
            let refusal = Self.unavailable("Too many requests wait for their results.")
            return GatewayReply(answer(.refused(refusal))).end(reply)
        }
        let waiting = Waiting(desk: desk, request: number, project: project, answer: answer, reply: reply)
        if let ownID {
            Task { await begin(send, ownID, identity, waiting) }
        } else if let standing = served.recent(project) {
            begin(send, standing, waiting)
        } else {
            Task { await begin(send, waiting) }
        }
        return { [desk] in desk.leave(number) }
    }

    /// Checks the rules of every job. A message that was checked a moment ago is not checked again: its other recipients are
    /// tokens, whose rules the request's reader has applied.
    private func check(_ wanted: RequestedSend, _ join: JoinKey, id: String?) throws(EntryFault) {
        let isTokens = id == nil && wanted.job == nil && (wanted.kind == .token || wanted.kind == .fid)
        let isKept = isTokens && wanted.message.count <= Self.maximumKeptBytes
        if isKept, checked.withLockedValue({ $0.contains(join) }) { return }
        _ = try entryCheck(join.project).check(join.job(to: wanted.recipients, id: id, wanted.job).fields)
        guard isKept else { return }
        checked.withLockedValue { checked in
            if checked.count >= Self.maximumChecked { checked = [] }
            checked.insert(join)
        }
    }

    private func begin(_ send: WantedSend, _ waiting: Waiting) async {
        do {
            begin(send, try await served.standing(of: waiting.project), waiting)
        } catch {
            refuse(waiting, error)
        }
    }

    /// - Parameter id: that the client gave.
    private func begin(_ send: WantedSend, _ id: String, _ identity: [UInt8], _ waiting: Waiting) async {
        var send = send
        do {
            var standing = try await served.standing(of: waiting.project)
            // Pushed again, the job is not sent again.
            if case .pressed = standing, try await desk.records.isClaimed(id, by: identity, project: waiting.project) {
                standing = .taking
            }
            var isNew = false
            if standing == .taking {
                let claim = try await desk.records.claim(id, for: identity, project: waiting.project)
                guard claim != .taken else {
                    return waiting.refuse(.fault(EntryFault("id", "belongs to a request with another key or body")))
                }
                isNew = claim == .new
                send.earlier = try await desk.records.status(of: id, project: waiting.project)
            }
            begin(send, standing, waiting) { [isNew] end in
                switch end {
                case .rejected: id
                // An equal request may wait for the job.
                case .unavailable: isNew ? id : nil
                default: nil
                }
            }
        } catch {
            refuse(waiting, error)
        }
    }

    /// - Parameter freedID: the client's id that is free again after an end; nil for none.
    private func begin(
        _ send: WantedSend,
        _ standing: ProjectStanding,
        _ waiting: Waiting,
        freedID: @escaping @Sendable (SendEnd) -> String? = { _ in nil }
    ) {
        switch standing {
        case .taking: break
        case .unserved: return waiting.refuse(.refused(.project(waiting.project)))
        case .pressed(let cause):
            let refusal = End.refused(Self.unavailable(cause))
            guard let recordKey = send.recordKey else { return waiting.refuse(refusal) }
            Task {
                // The answer of an earlier request is nothing new for workers.
                guard await desk.isRepeat(of: recordKey) else { return waiting.refuse(refusal) }
                begin(send, .taking, waiting)
            }
            return
        }
        desk.send(send, as: waiting.request) { end in
            guard let id = freedID(end) else { return waiting.end(end) }
            Task {
                await waiting.desk.records.free(id, project: waiting.project)
                waiting.end(end)
            }
        }
    }

    private func refuse(_ waiting: Waiting, _ error: any Error) {
        logger.warning("Redis did not answer.", metadata: ["error": "\(error)"])
        waiting.refuse(.refused(Self.unavailable("Redis is away.")))
    }

    /// Clients that were refused together do not come back together.
    fileprivate static func unavailable(_ cause: String) -> GatewayError {
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

extension SendRoute {
    /// A request that waits for the end of its send.
    fileprivate struct Waiting: Sendable {
        let desk: SendDesk
        let request: UInt64
        let project: String
        let answer: @Sendable (End) -> ServedAnswer
        let reply: @Sendable (GatewayReply) -> Void

        /// Answers a request that sends nothing.
        func refuse(_ end: End) {
            desk.forget(request)
            reply(GatewayReply(answer(end)))
        }

        func end(_ end: SendEnd) {
            let made: ServedAnswer
            switch end {
            case .results(let place, let results): made = answer(.results(place, results))
            case .rejected(let job, let problem): made = answer(.rejected(job: job, problem: problem))
            case .unknown(let job): made = answer(.unknown(job: job))
            case .foreign: made = answer(.fault(EntryFault("id", "belongs to another job")))
            case .answered(let earlier): return reply(GatewayReply(answer(.answered(earlier))))
            case .unavailable(let cause): return reply(GatewayReply(answer(.refused(SendRoute.unavailable(cause)))))
            // The client does not read the answer, and its job is remembered.
            case .left: return reply(GatewayReply(answer(.refused(SendRoute.unavailable("The client left.")))))
            }
            if DuplicateRule.isRepeated(made) {
                desk.end(request, .answered(made), project: project)
                return reply(GatewayReply(made))
            }
            reply(
                GatewayReply(made) { [desk, request, project] isWritten in
                    desk.end(request, isWritten ? .written : .left, project: project)
                }
            )
        }
    }
}

/// A request of an API that sends, once its key is admitted.
struct SendCall: Sendable {
    var request: WebRequest
    var key: GatewayKey
    var project: String
    var tally: RequestTally
}

/// An answer, and what is told of its way to the client.
struct GatewayReply: Sendable {
    var answer: ServedAnswer
    /// Called once: with true when the answer is written, with false when the client left before.
    var onEnd: (@Sendable (_ isWritten: Bool) -> Void)?

    init(_ answer: ServedAnswer, onEnd: (@Sendable (_ isWritten: Bool) -> Void)? = nil) {
        (self.answer, self.onEnd) = (answer, onEnd)
    }

    /// Ends a request at once.
    ///
    /// - Returns: what to call when the client leaves: nothing is to be done then.
    func end(_ reply: (GatewayReply) -> Void) -> @Sendable () -> Void {
        reply(self)
        return {}
    }
}
