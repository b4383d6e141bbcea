public import StreamWire

/// Decides when a worker asks Redis for work: at once while claims bring something, else every few milliseconds. A quiet
/// project is asked for only when ``QuietPlan`` finds something in it.
///
/// ``SendMachine/claimCall(worker:plan:now:)`` decides for how much.
public struct ClaimPlan: Equatable, Sendable {
    /// When the next claim is due.
    public enum Next: Equatable, Sendable {
        case now
        case after(milliseconds: Int64)
    }

    /// Time between two claims while the project has jobs, in milliseconds; while it has none, and an operator or a
    /// condition stops it; and while it is quiet.
    public let pollMs: Int64
    public let idlePollMs: Int64
    public let quietPollMs: Int64

    /// Whether the answer to a claim is awaited.
    public private(set) var isAsking = false
    /// Whether the last claim said that every job is over.
    public private(set) var foundNothing = false
    /// Whether the last claim left nothing to wait for: no open job, no pause, no hold, no block and no pressure.
    public private(set) var isQuiet = false
    /// The last news of jobs and of refused rates that this worker has read.
    public private(set) var newsCursor = "0"
    public private(set) var refusedCursor = "0"
    /// The last claim brought fewer permits than it asked for.
    private var isShort = false
    /// Sends waited for permits since the last claim that followed another at once.
    private var wasStarved = false
    private var askedPermits = 0
    /// The last claims brought retries: more are due one after the other, and are claimed together.
    private var bringsRetries = false

    /// News that one answer holds at most: after so many there may be more.
    private static let maximumNews = 500

    public init(pollMs: Int64, idlePollMs: Int64, quietPollMs: Int64) {
        self.pollMs = pollMs
        self.idlePollMs = idlePollMs
        self.quietPollMs = quietPollMs
    }

    /// Notes a claim that is sent now.
    public mutating func sent(_ call: ClaimCall) {
        isAsking = true
        foundNothing = false
        isQuiet = false
        askedPermits = call.permitsSingle + call.permitsFanout
    }

    /// A claim was not answered, or its answer is for a lease that this worker no longer has.
    public mutating func failed() -> Next {
        isAsking = false
        return .after(milliseconds: pollMs)
    }

    /// A claim was answered.
    ///
    /// - Parameters:
    ///   - unsent: recipients at hand that need a permit, this answer's included.
    ///   - holdsBatches: whether this worker holds any batch.
    public mutating func answered(_ reply: ClaimReply, unsent: Int, holdsBatches: Bool) -> Next {
        isAsking = false
        foundNothing = reply.unfinished == 0
        newsCursor = reply.newsCursor
        refusedCursor = reply.refusedCursor
        isShort = reply.permits < askedPermits
        let isStarved = unsent > 0 && reply.permits > 0 && !isShort && wasStarved
        // Claimed batches need permits, and there may be more batches.
        if !reply.claims.isEmpty || reply.news.count >= Self.maximumNews || isStarved {
            wasStarved = false
            bringsRetries = reply.claims.contains { $0.pass == .retry }
            return .now
        }
        let due = reply.nextDueMs > reply.nowMs && !bringsRetries ? reply.nextDueMs - reply.nowMs : .max
        bringsRetries = false
        guard !holdsBatches, foundNothing else { return .after(milliseconds: min(pollMs, due)) }
        isQuiet = reply.isCalm
        return .after(milliseconds: min(isQuiet ? quietPollMs : idlePollMs, due))
    }

    /// Sends wait for permits.
    ///
    /// - Returns: when to ask for some; nil where the answer that is awaited leads to the next claim.
    public mutating func starved() -> Next? {
        wasStarved = true
        guard !isAsking || isShort else { return nil }
        return .after(milliseconds: isShort ? pollMs / 2 : 0)
    }

    /// The worker registered: news up to here does not concern what it claims from now on.
    public mutating func registered(newsCursor: String) { self.newsCursor = newsCursor }

    /// Another server answers, whose news may have other numbers. Reading news twice does no harm.
    public mutating func readNewsAgain() {
        newsCursor = "0"
        refusedCursor = "0"
    }
}

extension ClaimReply {
    /// Whether nothing stops the project, and nothing has to be done for it.
    fileprivate var isCalm: Bool {
        holdMs <= 0 && probeMs <= 0 && suspect == nil && copying.isEmpty && closedWindow == nil && pauseReason.isEmpty
            && pressure.isEmpty
    }
}
