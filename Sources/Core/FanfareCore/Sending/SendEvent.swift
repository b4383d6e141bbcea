public import FanfareModel
public import StreamWire

/// The events that a ``SendMachine`` handles. Events with large values are `indirect`: there is one for hundreds of
/// sends.
public enum SendEvent {
    /// Redis answered the claim that was sent at `askedNs`, from which on its permits are valid.
    indirect case claimReplied(ClaimReply, askedNs: UInt64)
    /// A batch of a claim whose reply was handled without it.
    indirect case claimed(Claim)
    /// Redis lent permits with a hand-over.
    case permitsLent(Int, askedNs: UInt64)
    /// Intake handed a job of one batch over to this worker.
    indirect case batchTaken(Claim, SendJob)
    indirect case specLoaded(job: String, JobSpec)
    /// The job has no spec: it ended meanwhile.
    case specMissing(job: String)
    /// A newer version wrote the spec.
    case specUnreadable(job: String)
    /// A second after ``specUnreadable(job:)``: the job's batches go back for a worker that can read it.
    case giveUpJob(String)
    /// This project's quarantined batches may run, in this mode.
    case quarantineBegan(QuarantineMode)
    /// Redis is away: a project without a quarantined batch keeps no other from sending.
    case redisLost
    /// A request's outcome.
    case completed(tag: Int, RequestOutcome)
    /// Redis answered a flush.
    case flushed(Flush, RecordReply)
    /// Redis may have forgotten these results: they are written again.
    case replay(Flush)
    /// Redis said how long a recipient has to wait for its rate; 0 when it counted the send.
    case rateChecked(RateCheck, waitMs: Int64)
    /// Redis granted so many operations on topics and groups.
    case managementGranted(Int)
    case timer(SendTimer)
    /// Redis does not have these batches as this worker holds them; `<job>/<batch>`.
    case forgotten([String])
    /// This worker was declared dead: its batches belong to others.
    case leaseLost
    /// This worker cannot send for a while, others can.
    case giveUp
    /// The worker ends: nothing new is sent.
    case drain
}

/// The timers of a ``SendMachine``. Each is armed once at a time.
public enum SendTimer: Equatable, Sendable {
    /// Writes what was gathered.
    case flush
    /// Sends may begin again: a hold or a throttle is over.
    case wake
}

/// A recipient that waits for Redis to decide on its rate.
public struct RateCheck: Equatable, Sendable {
    let slot: Int
    let position: Int
    /// The recipient's ``RecipientRateLimiter/name(_:kind:)``.
    public let name: String
}
