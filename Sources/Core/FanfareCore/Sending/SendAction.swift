public import FCMWire
public import FanfareModel
public import StreamWire

/// The actions that a driver performs for a ``SendMachine``.
public enum SendAction {
    /// Its answer is to be reported with the tag.
    case send(tag: Int, WireRequest)
    case flush(Flush)
    /// Gives a batch back. `watermark` is nil where it stays, 0 where nothing was sent.
    case release(batch: String, epoch: String, watermark: Int?)
    case loadSpec(job: String)
    /// A second later, ``SendEvent/giveUpJob(_:)`` is due.
    case giveUpJobLater(String)
    /// This project waits to run a quarantined batch; see ``QuarantineGate``.
    case enterQuarantine(QuarantineMode)
    case leaveQuarantine
    case checkRate(RateCheck)
    /// Asks Redis for this many operations on topics and groups.
    case requestManagement(Int)
    /// Arms a timer for this time, in nanoseconds.
    case arm(SendTimer, at: UInt64)
    /// There is room for more work: a claim is due now.
    case claim
    /// Permits ran out: a claim is due soon.
    case claimPermits
    /// FCM refused the access token or key of this generation.
    case refuseCredential(Int)
    /// Another API refused it: a newer one is wanted while sends continue.
    case renewCredential(Int)
    /// The project's probe: a credential that was refused is tried again.
    case retryCredential
    case meter(SendMeter)
    case log(SendLog)
    /// A batch was taken, and its slot; see ``SendMachine/batch(_:)``.
    case batchBegan(slot: Int)
    case batchEnded(slot: Int, BatchOutcome)
}

/// How a worker let go of a batch.
public enum BatchOutcome: String, CaseIterable, Sendable { case closed, returned, lost }

/// A count or a measurement.
public enum SendMeter: Equatable, Sendable {
    /// A request was answered, or given up; one verdict for each of its recipients.
    case answered([Verdict], isManagement: Bool, afterNs: UInt64)
    /// A recipient has its result.
    case finished(ResultStatus, ErrorCode?, maybeDup: Bool)
    /// A recipient waits for its next attempt.
    case retried(Retry.Cause, delayMs: Int64)
    /// The first send of a batch began this long after its recipients could have been sent to.
    case waited(milliseconds: Int64, recipients: Int)
    case tookOver
    /// A guard paused a job.
    case paused(PauseGuard)
    case letGo(BatchOutcome, afterNs: UInt64)
}

/// A line for the log.
public struct SendLog: Sendable {
    public enum Level: Sendable { case info, notice, warning, error }

    public let level: Level
    public let message: StaticString
    public let metadata: [(name: String, value: String)]
}
