internal import FCMWire
internal import FanfareModel
public import StreamWire

/// A batch that this worker holds.
public struct HeldBatch: Sendable {
    public internal(set) var source: BatchSource
    public let pass: Claim.Pass
    /// How many workers have been given the batch, this one included.
    public let deliveries: Int
    /// Whether it is run while no other project of this process sends.
    let isQuarantined: Bool
    /// Whether intake gave it to this worker, in place of a claim: it is the only batch of its job.
    let isTaken: Bool
    /// Whether one of its recipients may be sent to while the project is blocked.
    let isProbe: Bool
    /// Whether it may have a recipient that FCM refused.
    var hasRefused: Bool
    /// The access token that was refused for recipients that wait for the next one, until a time in nanoseconds.
    var refusedToken = 0
    var awaitsTokenUntilNs: UInt64 = 0
    /// ``CredentialEvidence/acceptedSends`` when the last of them began to wait.
    var acceptedBeforeToken = 0
    /// Whether one of them is the probe of a blocked project.
    var awaitsTokenForProbe = false
    /// The job's slot in the machine.
    let job: Int
    public internal(set) var state = BatchState.preparing(ending: nil)
    public internal(set) var recipients: [HeldRecipient]
    /// Sends below this position were allowed when the batch was claimed.
    let claimedWatermark: Int
    /// No send begins from then on, Unix milliseconds: the job's send window closes. Nil without a window.
    let closesMs: Int64?
    /// Before this time no higher watermark is asked for, in nanoseconds: a guard of the job did not allow it.
    var nextAskNs: UInt64 = 0
    /// Since when a guard of the job has allowed nothing more, in nanoseconds; `UInt64.max` while none delays it.
    var guardedSinceNs = UInt64.max
    var unsent: UnsentRecipients
    /// The answers so far about a position that needs several requests. Only in memory: another worker starts again.
    var continuations: [Int: TopicListing] = [:]
    var isQueued = false
    /// Recipients that the queue counts.
    var queuedCount = 0

    /// Recipients without a result or a retry.
    var open = 0
    var inFlight = 0
    /// Recipients that wait for Redis to decide on their rate.
    var rateChecks = 0
    /// Whether a request of it was handed to a transport.
    var wasSent = false
    /// Whether its last answer was a sign of overload: other batches go first for a while.
    var isOverloaded = false

    /// The next flush.
    var pending: RecordCall
    var isDirty = false
    var openFlushes = 0
    /// Results of the last flush: the next is likely to hold as many.
    var lastFlushCount = 0
    /// Flushes so far, and the last one that Redis has confirmed.
    var flushNumber = 0
    var confirmedFlush = 0
    /// Whether a flush has reported that the batch's last send has begun.
    var hasReportedAllSent = false
    let startedNs: UInt64
    /// The job, if it is compact.
    let compact: CompactJob?

    init(_ claim: Claim, job: Int, isTaken: Bool = false, startedNs: UInt64) {
        source = BatchSource(job: claim.job, batch: claim.batch, epoch: claim.epoch, isManagement: false)
        pass = claim.pass
        deliveries = claim.deliveries
        isQuarantined = claim.isQuarantined
        self.isTaken = isTaken
        isProbe = claim.isProbe
        self.job = job
        recipients = claim.recipients.map(HeldRecipient.init)
        hasRefused = claim.pass == .retry && claim.recipients.contains { $0.history.refusals > 0 }
        claimedWatermark = claim.watermark
        closesMs = claim.closesMs
        unsent = UnsentRecipients([], confirmed: claim.watermark)
        pending = RecordCall(job: claim.job, batch: claim.batch, epoch: claim.epoch)
        self.startedNs = startedNs
        compact = claim.compact
    }

    /// The content of an unused slot.
    static let free = HeldBatch(
        Claim(job: "", epoch: "", watermark: 0, taken: RecipientList()),
        job: -1,
        startedNs: 0
    )

    /// False for ``free``.
    var isHeld: Bool { job >= 0 }

    /// The batch's name among all of the project: `<job>/<batch>`.
    public var name: String { "\(source.job)/\(source.batch)" }
    public var count: Int { recipients.count }

    /// Whether nothing of it is in flight, to FCM or to Redis.
    var isQuiet: Bool { openFlushes == 0 && !isDirty && inFlight == 0 && rateChecks == 0 }

    /// Whether Redis may have closed it, with the answer still to come: Redis deletes a retry batch with its last flush.
    var mayBeClosed: Bool { state == .closed || (pass == .retry && open == 0 && openFlushes > 0) }

    /// Marks a position as reported; false if it was before.
    mutating func finish(_ position: Int) -> Bool {
        guard recipients[position].progress != .settled else { return false }
        recipients[position].progress = .settled
        open -= 1
        return true
    }

    /// Positions that an earlier worker may have sent.
    var maybeSent: [Int] { recipients.indices.filter { recipients[$0].progress == .maybeSent } }
}

/// A job whose batches this worker holds.
struct HeldJob {
    let id: String
    /// See ``Claim/born``. A batch of an earlier job of the same id may still wait for Redis' answer.
    var born = ""
    /// Nil while its spec is being loaded.
    var job: SendJob?
    /// The status of every recipient without a result; nil unless the job ends before its time.
    var ending: ResultStatus?
    /// Counts sends to each recipient; only of fan-outs large enough to exceed a recipient's rate.
    var repeats: CountMinSketch?
    /// Batches that this worker holds; the job is forgotten with the last.
    var batches = 0
}
