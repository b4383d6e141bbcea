/// A rule omitted on purpose, so that a test can show that the referee detects it.
public enum Mutation: String, CaseIterable, Sendable {
    /// Watermarks are confirmed but not stored.
    case forgetWatermarks = "forget-watermarks"
    /// Decisions are accepted with any epoch.
    case acceptOldEpochs = "accept-old-epochs"
    /// One fan-out more than allowed is active.
    case activateOneMore = "activate-one-more"
    /// The newest fan-out is next.
    case newestFirst = "newest-first"
    /// Turns end with the last answer instead of the last send.
    case keepSlotForAnswers = "keep-slot-for-answers"
    /// Retry batches orphaned while their job was paused return as first-pass work.
    case keepSlotForTail = "keep-slot-for-tail"
    /// A topic or condition whose worker died is sent without a turn.
    case broadcastWithoutTurn = "broadcast-without-turn"
    case lendTooMuch = "lend-too-much"
    /// Permits do not expire.
    case keepPermits = "keep-permits"
    case ignoreHold = "ignore-hold"
    /// A flush raises its watermark although the job was stopped by its condition.
    case raiseAfterStop = "raise-after-stop"
    /// Watermarks go beyond the canary.
    case ignoreCanary = "ignore-canary"
    /// Watermarks are granted without the job's rate.
    case ignoreRate = "ignore-rate"
    /// A single 503 with Retry-After holds the project.
    case holdOnOneRefusal = "hold-on-one-refusal"
    /// The pace climbs without answers of FCM.
    case climbUnanswered = "climb-unanswered"
    /// Workers ignore the news of cancels and pauses.
    case ignoreNews = "ignore-news"
    case sendPastLease = "send-past-lease"
    /// A send that was decided before the worker was frozen begins after it.
    case sendAfterFreeze = "send-after-freeze"
    /// Recipients that a dead worker may have sent to count as unsent.
    case forgetDoubt = "forget-doubt"
    /// Recipients that a dead worker may have sent to are sent to again, even in at-most-once jobs.
    case repeatAtMostOnce = "repeat-at-most-once"
    /// A send whose answer was lost counts as unsent: it is repeated without a flag.
    case refusedWithoutProof = "refused-without-proof"
    /// Batches of dead workers are forgotten.
    case loseOrphans = "lose-orphans"
    /// A result is written although the recipient has one.
    case writeTwice = "write-twice"
    /// A record call marks its recipients done before it writes their results entry.
    case markBeforeWrite = "mark-before-write"
    /// Single recipients are claimed after fan-outs.
    case singlesLast = "singles-last"
    /// Recipients that become a retry lose their crash count.
    case forgetCrashes = "forget-crashes"
    /// A topic's send that crashed workers is given to any worker, without quarantine.
    case runBroadcastSuspects = "run-broadcast-suspects"
    /// Delayed calls of a closed connection are applied.
    case acceptOldConnections = "accept-old-connections"
    /// Owners are compared by epoch alone.
    case compareEpochOnly = "compare-epoch-only"
    /// A news cursor from before a rollback is used.
    case keepNewsCursor = "keep-news-cursor"
    /// A worker whose lease expired registers its old name again after it reconnects.
    case registerAgain = "register-again"
    /// Decisions of a dead worker are accepted until another worker takes its batch over.
    case keepDeadOwners = "keep-dead-owners"
    /// State that Redis lost is detected neither when a worker reconciles nor when it closes a batch.
    case closeUnchecked = "close-unchecked"
}
