internal import FCMWire
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
        public var maxInFlight = 1_000
        /// Sends of a batch that may begin before the next watermark is confirmed.
        public var window = 128
        /// How long results wait in memory before they are written.
        public var flushMs: Int64 = 5
        /// Results and retries that go without waiting for ``flushMs``.
        public var flushCount = 256
        public var quotaPerMinute = 600_000
        /// Retries among all sends of any ten seconds, per cent.
        public var retryPercent = 10
        /// False for a server key, which cannot be fetched anew.
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
    var refusals = OperationRefusals()

    /// By their slots. They are changed in place, so a free slot holds ``HeldBatch/free`` and not nil.
    var batches: [HeldBatch] = []
    private var freeSlots: [Int] = []
    /// Rounds over the members of a device group, by the slot of their batch, which has no other recipient.
    var rounds: [Int: GroupRound] = [:]
    public private(set) var batchCount = 0
    var jobs: [HeldJob?] = []
    private var freeJobs: [Int] = []
    var jobSlots: [String: Int] = [:]

    /// Batches with something to write, in the order in which it came.
    var dirty: [Int] = []
    /// The verdicts on the answer that is being handled: one array for all answers.
    var verdicts: [Verdict] = []
    /// The positions that the next request may carry: one array for all requests.
    var candidates: [Int] = []
    var isFlushArmed = false
    var isWakeArmed = false
    var isRequestingManagement = false
    var quarantine = Quarantine.none
    /// Whether other projects wait for this one's quarantined batch.
    var isQuarantineLimited = false
    /// When the quarantined batch gives way to other projects, which wait for it; nanoseconds.
    var quarantineEndsNs = UInt64.max
    var lastOverloadNs: UInt64?
    /// The access token that was last refused for a member of a group.
    var refusedForMember: Int?
    /// The fingerprint of the credential that had the last accepted send.
    var acceptedCredential: UInt64 = 0
    /// The first refusal of an access token since the last accepted send.
    var doubtedToken: DoubtedToken?
    /// Accepted sends so far.
    var acceptedSends = 0
    /// Whether recipients wait for the next access token.
    var awaitsToken = false
    /// Jobs with a recipient that FCM refused since the project is blocked; empty while it is not.
    var refusedJobs: Set<String> = []
    var refusalLogs = LogThrottle(seconds: 60)
    var blockLogs = LogThrottle(seconds: 60)
    /// Whether the log's last word on the project is that it is blocked.
    var isBlockLogged = false
    var holdNotice = HoldNotice()
    /// What the last answer of FCM that asked this worker to wait said, and when it came; nanoseconds.
    var askedToWait = (reason: "", atNs: UInt64(0))
    var tokenLogs = LogThrottle(seconds: 60)
    var credentialAlerts = LogThrottle(seconds: 60)
    /// When each refusal of an operation was last logged, in the project's time, by its `raw_error`.
    var loggedRefusals: [String: Int64] = [:]
    /// Logs about jobs whose spec cannot be read, each once a minute.
    var unreadableJobs: [String: LogThrottle] = [:]

    /// Whether this project runs a quarantined batch, or waits to.
    enum Quarantine: Equatable {
        case none
        /// It lets go of its batches, and asks for an exclusive quarantine when it holds none. May follow: waiting, none.
        case emptying
        /// It has asked the process' ``QuarantineGate`` for this mode. May follow: held, none.
        case waiting(QuarantineMode)
        /// It claims quarantined batches, one at a time, and runs them. May follow: none.
        case held(QuarantineMode)
    }

    /// - Parameters:
    ///   - seed: of the random numbers that spread retries.
    ///   - messageNonce: where the ids of messages over XMPP begin; no other process may have the same.
    public init(_ settings: Settings, seed: UInt64, messageNonce: UInt64) {
        self.settings = settings
        gate = SendGate(mostUncommitted: 4 * settings.maxInFlight)
        limit = AdaptiveSendLimit(maxInFlight: settings.maxInFlight, retryPercent: settings.retryPercent)
        rules = OutcomeRules(policy: settings.policy)
        random = SplitMix64(seed: seed)
        self.messageNonce = messageNonce
    }

    // MARK: State

    /// Requests in flight.
    public var inFlight: Int { requests.count }
    /// Whether everything that was decided is on its way to Redis.
    public var isWritten: Bool { dirty.allSatisfy { !(batch($0)?.isDirty ?? false) } }
    /// Whether it holds no batch.
    public var isEmpty: Bool { batchCount == 0 }
    /// Whether nothing is in flight and nothing is left to send.
    public var isIdle: Bool { inFlight == 0 && queue.isEmpty }

    /// The request with a tag; nil if it is not in flight.
    public func request(_ tag: Int) -> InFlightRequest? { requests[tag] }

    /// The batch in a slot; nil if there is none.
    public func batch(_ slot: Int) -> HeldBatch? {
        batches.indices.contains(slot) && batches[slot].isHeld ? batches[slot] : nil
    }

    /// The job of the batch in a slot; nil while its spec is being loaded.
    public func job(of slot: Int) -> SendJob? { batch(slot).flatMap { jobs[$0.job]?.job } }

    /// The batches that it holds, for Redis to compare with what it knows.
    public var known: [FunctionLibrary.KnownBatch] {
        batches.lazy.filter { $0.isHeld && !$0.state.isLost }.map { batch in
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
        case .batchTaken(let claim, let spec, let adapter): batchTaken(claim, spec, adapter)
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
            isRequestingManagement = false
            management.grant(count, now: now.monotonicNs)
        case .timer(.flush):
            isFlushArmed = false
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

    // MARK: The slab

    // Functions that every send calls are `mutating`, although they change nothing: any other call copies the machine.

    /// A batch's sends that have not begun: of recipients, and of members in a round.
    @inline(__always)
    mutating func unsentCount(_ slot: Int) -> Int {
        batches[slot].unsent.left + roundCount(slot)
    }

    /// Members of the batch's group that are still to be sent to.
    @inline(__always)
    mutating func roundCount(_ slot: Int) -> Int { rounds.isEmpty ? 0 : rounds[slot]?.unsent.count ?? 0 }

    /// The slots in use that match.
    func slots(where isWanted: (HeldBatch) -> Bool) -> [Int] {
        batches.indices.filter { batches[$0].isHeld && isWanted(batches[$0]) }
    }

    mutating func insert(_ batch: HeldBatch) -> Int {
        batchCount += 1
        jobs[batch.job]?.batches += 1
        guard let slot = freeSlots.popLast() else {
            batches.append(batch)
            return batches.count - 1
        }
        batches[slot] = batch
        return slot
    }

    /// Removes a batch, and its job with the last one.
    mutating func remove(_ slot: Int) {
        unqueue(slot)
        let (job, wasQuarantined) = (batches[slot].job, batches[slot].isQuarantined)
        defer { if wasQuarantined { leaveQuarantineUnlessRunning() } }
        batches[slot] = .free
        rounds[slot] = nil
        freeSlots.append(slot)
        batchCount -= 1
        jobs[job]?.batches -= 1
        guard let held = jobs[job], held.batches == 0 else { return }
        if jobSlots[held.id] == job { jobSlots[held.id] = nil }
        jobs[job] = nil
        freeJobs.append(job)
    }

    /// The slot of a job, which is made if there is none.
    mutating func jobSlot(_ id: String, born: String) -> Int {
        if let slot = jobSlots[id], jobs[slot]?.born == born { return slot }
        return newJobSlot(id, born: born)
    }

    /// A new slot for a job. An earlier job of the same id keeps its own until its batches are removed.
    mutating func newJobSlot(_ id: String, born: String = "") -> Int {
        let slot = freeJobs.popLast() ?? jobs.count
        if slot == jobs.count { jobs.append(nil) }
        jobs[slot] = HeldJob(id: id, born: born)
        jobSlots[id] = slot
        return slot
    }

    /// The job of a batch that is prepared.
    @inline(__always)
    mutating func sendJob(_ slot: Int) -> SendJob {
        guard let job = jobs[batches[slot].job]?.job else { preconditionFailure("a prepared batch has its job") }
        return job
    }

    /// The outcome rules' input besides a recipient of the batch.
    @inline(__always)
    mutating func situation(_ slot: Int) -> OutcomeRules.Situation {
        OutcomeRules.Situation(
            job: sendJob(slot),
            ending: jobs[batches[slot].job]?.ending,
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
