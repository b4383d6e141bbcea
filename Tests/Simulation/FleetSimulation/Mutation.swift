/// A rule left out on purpose, so that a test can show that the referee notices.
public enum Mutation: String, CaseIterable, Sendable {
    /// Watermarks are confirmed and not kept.
    case forgetWatermarks = "forget-watermarks"
    /// Decisions are accepted whatever their epoch.
    case acceptOldEpochs = "accept-old-epochs"
    /// One fan-out more than allowed has its turn.
    case activateOneMore = "activate-one-more"
    /// The fan-out that waited least is next.
    case newestFirst = "newest-first"
    /// Turns end with their batches' answers, not with their last send.
    case keepSlotForAnswers = "keep-slot-for-answers"
    /// Batches of a retry that were orphaned while their job was paused come back as first-pass work.
    case keepSlotForTail = "keep-slot-for-tail"
    /// A topic or condition whose worker died is sent without a turn.
    case aimedWithoutTurn = "aimed-without-turn"
    case lendTooMuch = "lend-too-much"
    /// Permits are good for as long as it takes.
    case keepPermits = "keep-permits"
    case ignoreHold = "ignore-hold"
    /// A single 503 with Retry-After holds the project.
    case holdOnOneRefusal = "hold-on-one-refusal"
    /// The pace climbs although FCM answers nothing.
    case climbUnanswered = "climb-unanswered"
    /// Workers do not hear of cancels and pauses.
    case ignoreNews = "ignore-news"
    case sendPastLease = "send-past-lease"
    /// What a dead worker may have sent counts as unsent.
    case forgetDoubt = "forget-doubt"
    /// What a dead worker may have sent is sent again, even where at most once was asked for.
    case repeatAtMostOnce = "repeat-at-most-once"
    /// A send whose answer was lost counts as never sent: it is sent again, without a flag.
    case refusedWithoutProof = "refused-without-proof"
    /// Batches of the dead are forgotten.
    case loseOrphans = "lose-orphans"
    /// Results are written although the recipient has one.
    case writeTwice = "write-twice"
    /// A record call marks its recipients done before it writes their results entry.
    case markBeforeWrite = "mark-before-write"
    /// Single recipients get what fan-outs leave.
    case singlesLast = "singles-last"
    /// Recipients that become a retry leave the count of crashes behind.
    case forgetCrashes = "forget-crashes"
    /// A topic's send that took workers down is given to any worker.
    case runAimedSuspects = "run-aimed-suspects"
    /// Calls that were delayed on a connection that the worker has given up are carried out.
    case acceptOldConnections = "accept-old-connections"
    /// Owners are compared by epoch alone.
    case compareEpochOnly = "compare-epoch-only"
    /// A cursor from before a rollback counts.
    case keepNewsCursor = "keep-news-cursor"
    /// A worker whose lease ran out registers its old name when the connection is back.
    case registerAgain = "register-again"
    /// A worker that was declared dead decides on what nobody has taken over yet.
    case keepDeadOwners = "keep-dead-owners"
    /// What Redis has forgotten is noticed neither when a worker asks what it holds, nor when it closes a batch.
    case closeUnchecked = "close-unchecked"
}
