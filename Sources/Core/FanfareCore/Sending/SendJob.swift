internal import FCMWire
public import FanfareModel
public import StreamWire

/// A job as this worker sends it: its spec, and the request prepared from it once.
public final class SendJob {
    public let id: String
    public let spec: JobSpec
    public let results: ResultsPolicy
    /// How its recipients are sent; nil for a job that was accepted for another transport and cannot be sent.
    let adapter: ProtocolAdapter?
    /// Recipients in the job's canary; nil without one.
    let canary: Int?
    /// Whether Redis learns the outcome of each recipient's first attempt.
    let reportsFirstAttempts: Bool
    /// Whether Redis judges the message by the first attempts: it has more than one batch, and a message.
    let judgesMessage: Bool
    /// Whether its watermarks are granted by guards, which may allow less than is asked for.
    let isGuarded: Bool
    /// Whether a guard may grant a watermark in parts, so that what stands below it must not wait for the rest.
    let isGrantedInParts: Bool
    /// Why its recipients cannot be sent; nil if there is an adapter.
    let untranslatable: Failure?

    /// - Parameter adapter: the one that intake made of the same job; nil makes one.
    public init(id: String, spec: JobSpec, settings: ProtocolSettings, adapter: ProtocolAdapter? = nil) {
        self.id = id
        self.spec = spec
        results = spec.results.resolved(total: spec.total)
        canary = spec.guards.canary.flatMap { try? Canary(Array($0.utf8)) }?.count(total: spec.total)
        reportsFirstAttempts = spec.guards.stopIf != nil
        judgesMessage = spec.operation == .send && spec.total > Batch.maximumSize
        isGuarded = !spec.guards.isEmpty
        isGrantedInParts = spec.guards.ratePerMinute != nil || spec.guards.canary != nil
        do throws(TranslationError) {
            self.adapter = if let adapter { adapter } else { try ProtocolAdapter(spec, job: id, settings: settings) }
            untranslatable = nil
        } catch {
            self.adapter = nil
            untranslatable = Failure(error: .invalidArgument, action: .fixMessage, rawError: error.reason)
        }
    }

    /// The adapter, if it is that of another job, too: one message is often sent by many jobs.
    ///
    /// A request of a message with `replace` holds a mark made of the job's id.
    func adapter(for other: JobSpec) -> ProtocolAdapter? {
        let isShared =
            spec.operation == .send && !spec.isPersonal && spec.delivery != .replace && other.operation == .send
            && !other.isPersonal && spec.delivery == other.delivery && spec.kind == other.kind
            && spec.format == other.format && spec.validateOnly == other.validateOnly
        return isShared && spec.message == other.message ? adapter : nil
    }

    /// Whether it takes turns with the project's other fan-outs; see the page LifeCycle.
    var isFanout: Bool {
        !isManagement && (spec.total > Batch.maximumSize || spec.kind.isBroadcast)
    }

    /// Whether it carries no message: a subscription, or an operation on a group.
    var isManagement: Bool { spec.operation != .send }

    var isAtMostOnce: Bool { spec.delivery == .atMostOnce }

    /// Whether the job subscribes tokens to a topic, so that its successes are counted.
    var isSubscribing: Bool { spec.operation == .subscribe }

    /// Whether one of its recipients could be sent to too often: a fan-out of more than 240 batches; see ``CountMinSketch``.
    var countsRepeats: Bool { spec.total > 240 * Batch.maximumSize }

    /// Whether several recipients travel in one request.
    var sharesRequests: Bool { maximumPerRequest > 1 }

    /// Recipients that one request may carry.
    var maximumPerRequest: Int { adapter?.most(spec.kind) ?? 1 }

    /// Whether FCM answers the job's requests over HTTP.
    var answersOverHTTP: Bool { adapter?.route.isHTTP != false }

    /// The message's own lifetime in milliseconds for a recipient whose first attempt was at this Unix time in
    /// milliseconds; nil when it sets none.
    func lifetimeMs(of recipient: HeldRecipient, firstAttemptMs: Int64) -> Int64? {
        adapter?.lifetimeMs(firstAttemptMs: firstAttemptMs, element: recipient.element)
    }

    /// Whether an ambiguous attempt has to be remembered: a second one shows the message twice, or fails because the
    /// group exists.
    var remembersDoubt: Bool {
        switch spec.operation {
        case .send, .groupCreate, .groupRemove: true
        case .subscribe, .unsubscribe, .topicList, .groupAdd, .groupGet: false
        }
    }

    /// Whether an attempt that ended with this retry may have been carried out.
    func isDoubtful(_ retry: Retry) -> Bool {
        guard isManagement else { return retry.mayHaveArrived }
        guard remembersDoubt else { return false }
        let status = retry.failure.httpStatus
        // A 503 with Retry-After was answered before the operation began.
        let wasTurnedAway = status == 503 && retry.retryAfterMs != nil
        return retry.mayHaveArrived || retry.cause == .unanswered
            || ((500...599).contains(status) && !wasTurnedAway)
    }
}
