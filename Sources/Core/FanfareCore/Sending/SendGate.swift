public import FanfareModel

/// Every reason why no send may begin, in one value.
///
/// Requests in flight continue whatever the gate says. Each caller asks for its own scope: sends, claims, or the
/// hand-over of a job to this worker at intake.
public struct SendGate: Equatable, Sendable {
    /// Why something may not begin, in the order of precedence.
    public enum Reason: Equatable, Sendable {
        case draining
        case leaseLost
        /// Redis is not there, or has not said yet what this worker holds.
        case redisNotReady
        case paused(String)
        case pressure(String)
        /// Another project of this process runs a quarantined batch alone.
        case quarantine
        /// The last news of the project are so old that a pause or a cancel may be unknown here.
        case newsStale
        /// As many results as a crash may lose are not confirmed by Redis yet.
        case uncommitted
        /// FCM asked for a pause; nanoseconds on the clock that is never set.
        case held(untilNs: UInt64)
        /// This worker waits for an access token.
        case credentialPending
        case credentialFailed(Failure)
        /// This worker cannot get a credential, though others may.
        case credentialStuck
        /// Nothing of the project can be sent until an operator acts; only its probe is.
        case blocked(String)
        /// This worker holds as much as it takes.
        case full
    }

    /// Operations that the gate stops or admits.
    public enum Scope: Sendable { case sending, claiming, intake }

    /// Whether a credential allows sends.
    public enum Credential: Equatable, Sendable {
        case ready, pending
        case failed(Failure)
    }

    /// The state of the drivers, read before sends begin.
    public struct Resources: Equatable, Sendable {
        public var leaseHolds = true
        public var credential = Credential.ready
        /// Which access token or key sends carry now.
        public var credentialGeneration = 0
        /// See ``CredentialMachine/isFresh(nowMs:)``.
        public var isTokenFresh = false
        /// The credential's fingerprint, which is no secret; 0 for none.
        public var credentialFingerprint: UInt64 = 0
        public var isCredentialStuck = false
        /// Whether no other project of this process waits for, or runs, a quarantined batch that nothing else may run
        /// beside.
        public var isQuarantineOpen = true
        /// Whether a project of this process, this one included, runs such a batch.
        public var isQuarantineHeld = false

        public init() {}
    }

    public var resources = Resources()
    public var isDraining = false
    /// Redis answers, and has said on this connection what this worker holds. No claim may overtake that question.
    public var isReady = false
    /// Why an operator has paused the project; nil when none has.
    public var pauseReason: String?
    /// Why no worker claims more; nil unless outgoing streams are not read or Redis is out of memory.
    public var pressure: String?
    /// No send begins before this time, in nanoseconds.
    public private(set) var heldUntil: UInt64 = 0
    /// Why the project is blocked; nil when it is not.
    public private(set) var blockReason: String?
    /// When the block was last set or written. An answer to an earlier question says nothing of it.
    public private(set) var blockedAt: UInt64 = 0
    /// Whether this worker may send one recipient as the probe of a blocked project.
    public var mayProbe = false
    /// Hashes of the recipients that FCM has refused since the last accepted send, which may be the project's fault.
    public private(set) var doubted: Set<UInt64> = []
    /// When a refusal was last heard or written. An answer to an earlier question says nothing of it.
    private var doubtedAt: UInt64 = 0
    /// Results and retries that Redis has not confirmed.
    public var uncommitted = 0
    /// When the last question was asked whose answer brought the project's news, in nanoseconds since boot; nil before the
    /// first. Only claims bring news, and an answer may have waited in a socket while the worker was frozen.
    public private(set) var newsAskedNs: UInt64?
    private let maximumUncommitted: Int

    /// The age of news with which a send may still begin, in nanoseconds.
    static let newsLastNs: UInt64 = 1_000_000_000

    private static let maximumHoldMs: Int64 = 21_600_000

    /// - Parameter maximumUncommitted: results that a crash may lose; see Guarantees.
    public init(maximumUncommitted: Int) { self.maximumUncommitted = maximumUncommitted }

    /// Holds every send of the project for this long, at most six hours.
    public mutating func hold(milliseconds: Int64, now: UInt64) {
        guard milliseconds > 0 else { return }
        heldUntil = max(heldUntil, now + UInt64(min(milliseconds, Self.maximumHoldMs)) * 1_000_000)
    }

    /// Redis has answered the question for news that was asked at this time.
    public mutating func newsCame(askedNs: UInt64) { newsAskedNs = max(newsAskedNs ?? 0, askedNs) }

    /// Whether Redis' last news are younger than a second.
    public func hasFreshNews(now: UInt64) -> Bool {
        guard let newsAskedNs else { return false }
        return now < newsAskedNs.adding(Self.newsLastNs)
    }

    public func isHeld(now: UInt64) -> Bool { now < heldUntil }

    public mutating func block(_ reason: String, now: UInt64) {
        blockReason = reason
        blockedAt = now
    }

    public mutating func blockWritten(now: UInt64) { blockedAt = now }

    public mutating func unblock() { (blockReason, mayProbe) = (nil, false) }

    /// FCM refused a recipient, or the flush is sent that says so.
    public mutating func doubt(_ recipient: UInt64, now: UInt64) {
        doubted.insert(recipient)
        doubtedAt = now
    }

    /// FCM refused a recipient earlier, and the flush is sent that says so.
    public mutating func doubtWritten(now: UInt64) { doubtedAt = now }

    /// Redis knows which recipients there are.
    ///
    /// - Parameter askedNs: when it was asked.
    public mutating func updateDoubt(_ doubted: Set<UInt64>, askedNs: UInt64) {
        if askedNs > doubtedAt { self.doubted = doubted } else { self.doubted.formUnion(doubted) }
    }

    /// The first reason why nothing of this scope may begin; nil when it may.
    ///
    /// A blocked project still claims and sends its probe, so ``Reason/blocked(_:)`` stops intake only.
    public func reason(for scope: Scope, now: UInt64) -> Reason? {
        if isDraining { return .draining }
        if !resources.leaseHolds { return .leaseLost }
        if !isReady { return .redisNotReady }
        switch scope {
        case .claiming: return nil
        case .intake:
            if resources.isQuarantineHeld { return .quarantine }
            if isHeld(now: now) { return .held(untilNs: heldUntil) }
            if resources.isCredentialStuck { return .credentialStuck }
            return blockReason.map { .blocked($0) }
        case .sending: return reasonNotToSend(now: now)
        }
    }

    private func reasonNotToSend(now: UInt64) -> Reason? {
        if let pauseReason { return .paused(pauseReason) }
        if let pressure { return .pressure(pressure) }
        if !resources.isQuarantineOpen { return .quarantine }
        if !hasFreshNews(now: now) { return .newsStale }
        // Past this bound sends wait for Redis: a crash would lose too many results.
        if uncommitted >= maximumUncommitted { return .uncommitted }
        if isHeld(now: now) { return .held(untilNs: heldUntil) }
        switch resources.credential {
        case .ready: return nil
        case .pending: return .credentialPending
        case .failed(let failure): return .credentialFailed(failure)
        }
    }
}

extension SendGate.Reason: CustomStringConvertible {
    /// The reason as metrics, `fanfare top` and logs print it.
    public var description: String {
        switch self {
        case .draining: "draining"
        case .leaseLost: "no lease"
        case .redisNotReady: "waiting for Redis"
        case .paused(let reason): "paused: \(reason)"
        case .pressure(let pressure): "pressure: \(pressure)"
        case .quarantine: "another project runs a quarantined batch"
        case .newsStale: "waiting for news of Redis"
        case .uncommitted: "waiting for Redis to take results"
        case .held: "held: FCM asked for a pause"
        case .credentialPending, .credentialStuck: "credentials: waiting for an access token"
        case .credentialFailed(let failure): "credentials: \(failure.rawError)"
        case .blocked(let reason): "blocked: \(reason)"
        case .full: "this worker is full"
        }
    }
}
