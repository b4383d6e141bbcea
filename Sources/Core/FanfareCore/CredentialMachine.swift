/// Decides when to fetch an access token: five minutes before the current one ends, one fetch at a time however many
/// sends wait, and at once when FCM refuses the current one. Times are milliseconds on a clock that is never set.
public struct CredentialMachine: Equatable, Sendable {
    /// Counts the tokens. A refusal of an older one than the current one is ignored.
    public typealias Generation = Int

    public enum Readiness: Equatable, Sendable {
        case ready(Generation)
        /// A fetch is in flight, or the next ``beginFetchIfDue(nowMs:)`` begins one.
        case wait
        /// The token endpoint refused the credential: nothing can be sent until an operator acts.
        case failed(reason: String)
    }

    private enum State: Equatable, Sendable {
        /// No token. Next: fetching.
        case none
        /// The first token, or one after a refusal or a failure, is being fetched. Next: valid, retrying, failed.
        case fetching
        /// Next: refreshing (near the end), none (refused or ended).
        case valid(endsMs: Int64, renewMs: Int64)
        /// A new token is being fetched while the old one still works. Next: valid, retrying.
        case refreshing(endsMs: Int64)
        /// The endpoint did not answer properly; tried again at `atMs`. `endsMs` is the old token's end, 0 for none.
        case retrying(atMs: Int64, endsMs: Int64)
        /// Next: fetching, by ``forceRetry()``.
        case failed(reason: String)
    }

    /// Tokens are renewed this long before they end.
    public static let earlyMs: Int64 = 300_000
    /// The least time between a granted token and the next fetch, even if the token is shorter or FCM refuses it.
    public static let leastIntervalMs: Int64 = 10_000

    /// A token is fresh for so long, in milliseconds.
    public static let freshMs: Int64 = 60_000

    /// The longest wait that an endpoint may ask for. It is the early margin: the old token lives that long.
    public static let longestRetryAfterMs = earlyMs

    private var state = State.none
    private var generation: Generation = 0
    private var failures = 0
    /// The earliest time of the next fetch.
    private var notBeforeMs = Int64.min
    /// The current token is fresh until then.
    private var freshUntilMs = Int64.min

    public init() {}

    /// Called before sends and on a timer; at most one fetch is in flight at any time.
    ///
    /// - Returns: whether a fetch begins now.
    public mutating func beginFetchIfDue(nowMs: Int64) -> Bool {
        switch state {
        case .none where nowMs >= notBeforeMs: state = .fetching
        case .valid(let ends, let due) where nowMs >= due, .retrying(let due, let ends) where nowMs >= due:
            state = nowMs < ends ? .refreshing(endsMs: ends) : .fetching
        case .none, .valid, .retrying, .fetching, .refreshing, .failed: return false
        }
        return true
    }

    public func readiness(nowMs: Int64) -> Readiness {
        switch state {
        case .valid(let ends, _), .refreshing(let ends), .retrying(_, let ends):
            return nowMs < ends ? .ready(generation) : .wait
        case .none, .fetching: return .wait
        case .failed(let reason): return .failed(reason: reason)
        }
    }

    /// - Parameter lifetimeMs: what the endpoint granted. A token that lives for less than twice the early margin is
    ///   renewed in its last tenth instead, or it would be renewed without end; and none is renewed within
    ///   ``leastIntervalMs``, so sends wait between the end of a shorter one and the next fetch. A token with a
    ///   lifetime of 0 is used until the next fetch, or until FCM refuses it.
    public mutating func fetched(lifetimeMs: Int64, nowMs: Int64) {
        generation += 1
        failures = 0
        notBeforeMs = nowMs + Self.leastIntervalMs
        let lifetime = lifetimeMs <= 0 ? Self.leastIntervalMs : min(lifetimeMs, 86_400_000)
        let early = lifetime >= 2 * Self.earlyMs ? Self.earlyMs : lifetime / 10
        freshUntilMs = lifetime >= 2 * Self.earlyMs ? nowMs + Self.freshMs : .min
        state = .valid(endsMs: nowMs + lifetime, renewMs: max(nowMs + lifetime - early, notBeforeMs))
    }

    /// The endpoint could not be reached or refused for now: tried again after 1 s, doubling up to a minute.
    ///
    /// - Parameters:
    ///   - jitter: 0 to 1, shortens the wait by up to a quarter, so that workers do not retry together.
    ///   - retryAfterMs: the wait that the endpoint asked for; a longer one than ``longestRetryAfterMs`` is cut to it,
    ///     and a shorter one than the wait without it changes nothing. nil if it asked for none.
    public mutating func fetchDelayed(nowMs: Int64, jitter: Double = 0, retryAfterMs: Int64? = nil) {
        failures += 1
        let longest = min(60_000, 1_000 << min(failures - 1, 6))
        let ownWait = Int64(longest - Int(Double(longest) * max(0, min(jitter, 1)) / 4))
        let wait = max(ownWait, min(retryAfterMs ?? 0, Self.longestRetryAfterMs))
        var old: Int64 = 0
        if case .refreshing(let ends) = state { old = ends }
        state = .retrying(atMs: nowMs + wait, endsMs: old)
    }

    /// The endpoint refused the times in the request, and they can be corrected: tried again at once.
    public mutating func fetchAgain() {
        switch state {
        case .fetching: state = .none
        case .refreshing(let ends): state = .retrying(atMs: .min, endsMs: ends)
        case .none, .valid, .retrying, .failed: break
        }
    }

    /// Whether the current token was granted less than ``freshMs`` ago, and for ten minutes or more. FCM has no reason of
    /// the token's own to refuse it, and no newer one would be better.
    public func isFresh(nowMs: Int64) -> Bool { nowMs < freshUntilMs }

    /// There is no token, and it is not known when there will be one: other workers should send instead.
    public func isStuck(nowMs: Int64) -> Bool { failures > 0 && readiness(nowMs: nowMs) == .wait }

    /// The endpoint refused the credential itself.
    public mutating func fetchRefused(reason: String, nowMs: Int64, jitter: Double = 0) {
        // Sends continue with the old token while it works; the fetch is tried again.
        if case .refreshing(let ends) = state, nowMs < ends { return fetchDelayed(nowMs: nowMs, jitter: jitter) }
        state = .failed(reason: reason)
    }

    /// FCM refused a token. A refusal of an older one is ignored.
    public mutating func refused(_ refused: Generation) {
        guard refused == generation else { return }
        switch state {
        case .valid, .retrying: state = .none
        // The token of the fetch in flight is the next one.
        case .refreshing: state = .fetching
        case .none, .fetching, .failed: break
        }
    }

    /// Fetches a newer token while sends continue with the current one: another API refused it.
    public mutating func renew(_ refused: Generation) {
        guard refused == generation, case .valid(let ends, let renew) = state else { return }
        state = .valid(endsMs: ends, renewMs: min(renew, notBeforeMs))
    }

    /// The project's probe: a failed credential is tried once more.
    public mutating func forceRetry() {
        if case .failed = state { state = .none }
    }
}
