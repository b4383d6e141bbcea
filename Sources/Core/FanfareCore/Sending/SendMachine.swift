public import FanfareModel
public import StreamWire

/// The decisions between a claim and a result, for one project of one worker.
///
/// The machine holds the project's batches, knows what is in flight, and decides what is sent, what each answer means and
/// what is written. It performs nothing: a driver feeds it events and carries out its actions in their order. Events from
/// Redis, FCM or operators never trap, and an unknown batch or tag is ignored; a broken rule of the machine's own traps.
///
/// A recipient is in one place at a time: unsent, then perhaps waiting for its rate, in flight, and settled. Settled is a
/// result, a retry at a time, or given back.
public struct SendMachine {
    /// The worker's configuration of a project.
    public struct Settings: Sendable {
        public var protocols = ProtocolSettings()
        /// Requests that may be in flight at once.
        public var maximumInFlight = 1_000
        /// Sends of a batch that may begin before the next watermark is confirmed.
        public var window = 128
        /// How long results wait in memory before they are written.
        public var flushMs: Int64 = 5
        /// Results and retries that go without waiting for ``flushMs``.
        public var flushCount = 256
        public var quotaPerMinute = 600_000
        /// Retries among all sends of any ten seconds, per cent.
        public var retryPercent = 10
        /// False for a server key, which cannot be fetched again.
        public var canRefreshCredential = true
        public var policy = RetryPolicy()

        public init() {}
    }

    /// Requests that each route takes now.
    public struct Room: Equatable, Sendable, ExpressibleByDictionaryLiteral {
        private var free = SIMD8<Int32>()

        public init(dictionaryLiteral counts: (Route, Int)...) { for (route, count) in counts { self[route] = count } }

        public subscript(route: Route) -> Int {
            get { Int(free[route.number]) }
            set { free[route.number] = Int32(clamping: newValue) }
        }
    }

    /// Only ``Settings/quotaPerMinute`` may be changed while the machine runs.
    public var settings: Settings
    /// The FCM project that the credential is of, which the paths of subscriptions name.
    public var credentialProject = ""
    public var gate: SendGate
    /// FCM's answers that are not yet reported to Redis.
    public var answers = AnswerTally()
    public internal(set) var permits = LeasedPermits()
    public internal(set) var limit: AdaptiveSendLimit

    /// The time of the event that is being handled.
    var now = Instant(monotonicNs: 0, projectMs: 0)
    /// The driver's array while an event is handled, empty otherwise.
    var actions: [SendAction] = []

    let rules: OutcomeRules
    var random: SplitMix64
    var messageNonce: UInt64
    var queue = SendQueue()
    var requests = InFlightTable()
    var rates = RecipientRateLimiter()
    var management = ManagementRateLimiter()
    var operationToken = OperationTokenRule()

    var batches = BatchTable()
    var flushes = FlushList()
    var evidence = CredentialEvidence()
    var quarantine = ProjectQuarantine()
    var logLimits = SendLogLimits()

    /// The job whose spec was read last: the next one often has the same message.
    var lastLoaded: SendJob?
    /// Verdicts of the current answer. Reused, so that an answer allocates nothing.
    var verdicts: [Verdict] = []
    /// Positions that the next request may carry. Reused, so that a request allocates nothing.
    var candidates: [Int] = []
    var isWakeArmed = false
    /// Whether recipients wait for the next access token.
    var awaitsToken = false
    /// Whether Redis may have work that this worker could not claim before: its last claim had no room, or a batch that it
    /// had claimed was sent since. A batch that intake gave to the worker proves no such work: intake gives all recipients
    /// of a job at once, only while no job of one batch waits, and never a fan-out, whose end would free the slot.
    var mayHaveLeftWork = true

    /// - Parameters:
    ///   - seed: of the random numbers that spread retries.
    ///   - messageNonce: where the ids of messages over XMPP begin; no other process may have the same.
    public init(_ settings: Settings, seed: UInt64, messageNonce: UInt64) {
        self.settings = settings
        gate = SendGate(maximumUncommitted: 4 * settings.maximumInFlight)
        limit = AdaptiveSendLimit(maximumInFlight: settings.maximumInFlight, retryPercent: settings.retryPercent)
        rules = OutcomeRules(policy: settings.policy)
        random = SplitMix64(seed: seed)
        self.messageNonce = messageNonce
    }

    // MARK: State

    /// Requests in flight.
    public var inFlight: Int { requests.count }
    /// Whether everything that was decided is on its way to Redis.
    public var isWritten: Bool { flushes.allSatisfy { !(batch($0)?.isDirty ?? false) } }
    /// Whether it holds no batch.
    public var isEmpty: Bool { batches.count == 0 }
    /// Whether nothing is in flight and nothing is left to send.
    public var isIdle: Bool { inFlight == 0 && queue.isEmpty }

    /// The request with a tag; nil if it is not in flight.
    public func request(_ tag: Int) -> InFlightRequest? { requests[tag] }

    /// The batch in a slot; nil if there is none.
    public func batch(_ slot: Int) -> HeldBatch? { batches.batch(slot) }

    /// Batches that it holds.
    public var batchCount: Int { batches.count }

    /// The job of the batch in a slot; nil while its spec is being loaded.
    public func job(of slot: Int) -> SendJob? { batch(slot).flatMap { batches[job: $0.job].job } }

    /// The batches that it holds, for Redis to compare with what it knows.
    public var known: [FunctionLibrary.KnownBatch] {
        batches.all.filter { !$0.state.isLost }.map { batch in
            let isPreparing = batch.state.isPreparing
            return FunctionLibrary.KnownBatch(
                name: batch.name,
                call: isPreparing ? 0 : batch.confirmedFlush,
                watermark: isPreparing ? 0 : batch.unsent.watermark.confirmed
            )
        }
    }

    // MARK: Events

    /// Handles an event.
    ///
    /// - Parameter output: what the driver has to do is appended to it.
    public mutating func handle(_ event: SendEvent, now: Instant, into output: inout [SendAction]) {
        self.now = now
        swap(&actions, &output)
        defer { swap(&actions, &output) }
        switch event {
        case .claimReplied(let reply, let askedNs): replied(reply, askedNs: askedNs)
        case .claimed(let claim): claimed(claim)
        case .permitsLent(let count, let askedNs): permits.lent(count, at: askedNs)
        case .batchTaken(let claim, let job): batchTaken(claim, job)
        case .specLoaded(let job, let spec): loaded(job, spec)
        case .specMissing(let job): forget(job)
        case .specUnreadable(let job): unreadable(job)
        case .giveUpJob(let job): stop(job, epoch: .max, onlyPreparing: true)
        case .quarantineBegan(let mode): quarantineBegan(mode)
        case .redisLost: leaveQuarantineUnlessRunning()
        case .completed(let tag, let outcome): completed(tag, outcome)
        case .flushed(let flush, let reply): flushed(flush, reply)
        case .replay(let flush): replay(flush)
        case .rateChecked(let check, let waitMs): rateChecked(check, waitMs: waitMs)
        case .managementGranted(let count):
            management.grant(count, now: now.monotonicNs)
        case .timer(.flush):
            flushes.timerFired()
            flushAll()
        case .timer(.wake): isWakeArmed = false
        case .forgotten(let names): forgotten(names)
        case .leaseLost: leaseLost()
        case .giveUp: stopAll { $0.state.endingStatus == nil }
        case .drain:
            gate.isDraining = true
            stopAll { _ in true }
            flushAll()
            leaveQuarantineUnlessRunning()
        }
    }

    // MARK: Batches

    // Functions that every send calls are `mutating`, although they change nothing: any other call copies the machine.

    /// A batch's sends that have not begun: of recipients, and of members in a round.
    @inline(__always)
    mutating func unsentCount(_ slot: Int) -> Int {
        batches.held[slot].unsent.left + roundCount(slot)
    }

    /// Members of the batch's group that are still to be sent to.
    @inline(__always)
    mutating func roundCount(_ slot: Int) -> Int { batches.roundCount(slot) }

    /// Removes a batch, and its job with the last one.
    mutating func remove(_ slot: Int) {
        unqueue(slot)
        let wasQuarantined = batches.held[slot].isQuarantined
        batches.remove(slot)
        if wasQuarantined { leaveQuarantineUnlessRunning() }
    }

    /// The job of a batch that is prepared.
    @inline(__always)
    mutating func sendJob(_ slot: Int) -> SendJob { batches.sendJob(slot) }

    /// The outcome rules' input besides a recipient of the batch.
    @inline(__always)
    mutating func situation(_ slot: Int) -> OutcomeRules.Situation {
        OutcomeRules.Situation(
            job: sendJob(slot),
            ending: batches.ending(slot),
            now: now
        )
    }

    mutating func log(
        _ level: SendLog.Level,
        _ message: StaticString,
        _ metadata: [(name: String, value: String)] = []
    ) {
        actions.append(.log(SendLog(level: level, message: message, metadata: metadata)))
    }
}
