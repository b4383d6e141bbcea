internal import FCMWire

/// Decides when to open connections and how many: as many as the waiting messages need, with a doubling pause after
/// failures.
struct ConnectionPlanner: Equatable {
    /// Time in milliseconds after which a connection counts as a success.
    static let stableMs: Int64 = 5_000
    /// Connections that open at the same time at most; more would all fail together.
    static let maximumOpening = 4

    private let window: Int
    private let most: Int
    private let least: Int
    private let shortestMs: Int64
    private let longestMs: Int64

    private(set) var failures = 0
    private(set) var nextOpeningMs: Int64 = 0
    /// Permits to connect that were requested and not answered.
    private(set) var pendingPermits = 0

    init(_ configuration: XMPPConfiguration) {
        window = configuration.session.window
        most = max(1, configuration.maximumConnections)
        least = min(max(0, configuration.leastConnections), max(1, configuration.maximumConnections))
        shortestMs = max(1, configuration.shortestBackoffMs)
        longestMs = max(shortestMs, configuration.longestBackoffMs)
    }

    func isPausing(nowMs: Int64) -> Bool { nowMs < nextOpeningMs }

    /// How many messages may wait for connections that are not open yet.
    ///
    /// - Parameters:
    ///   - ready: connections that take messages.
    ///   - opening: connections that will.
    func promised(ready: Int, opening: Int, nowMs: Int64) -> Int {
        let coming = opening + pendingPermits
        if isPausing(nowMs: nowMs) { return coming * window }
        // After a failure one connection is tried first.
        if failures > 0 { return max(1, coming) * window * (ready + coming < most ? 1 : 0) }
        return max(coming, most - ready) * window
    }

    /// How many to open now.
    ///
    /// - Parameter queued: messages that no ready connection has room for.
    func wanted(queued: Int, ready: Int, opening: Int, nowMs: Int64) -> Int {
        guard !isPausing(nowMs: nowMs) else { return 0 }
        let coming = opening + pendingPermits
        let unserved = max(0, queued - coming * window)
        let demand = max((unserved + window - 1) / window, least - ready - coming)
        let limit = failures > 0 ? 1 : Self.maximumOpening
        return max(0, min(demand, most - ready - coming, limit - coming))
    }

    mutating func requestedPermit() { pendingPermits += 1 }

    /// - Parameter random: in 0..<1.
    mutating func answeredPermit(_ isGranted: Bool, nowMs: Int64, random: Double) {
        pendingPermits -= 1
        guard !isGranted else { return }
        // Nothing failed: the project has no connection left for this minute, or none at all.
        nextOpeningMs = max(nextOpeningMs, nowMs + spread(5 * shortestMs, random))
    }

    /// A connection ended unintentionally, or was never made.
    ///
    /// - Parameters:
    ///   - servedMs: how long it was ready; nil when it never was.
    ///   - isRefused: FCM refused the credential, which will not change within seconds.
    mutating func failed(servedMs: Int64?, isRefused: Bool, nowMs: Int64, random: Double) {
        if let servedMs, servedMs >= Self.stableMs {
            failures = 0
            // All workers may have lost their connections together.
            nextOpeningMs = max(nextOpeningMs, nowMs + Int64(Double(shortestMs) * random))
            return
        }
        failures = min(failures + 1, 32)
        let doubled = isRefused ? longestMs : min(longestMs, shortestMs << Int64(min(failures - 1, 20)))
        nextOpeningMs = max(nextOpeningMs, nowMs + spread(doubled, random))
    }

    /// FCM drains a connection. It may do so at any time; a peer that drains each connection at once counts as failing,
    /// or it would get one connection after the other. Connections that are drained together are one failure.
    mutating func drained(servedMs: Int64, nowMs: Int64, random: Double) {
        if servedMs >= Self.stableMs { return markStable() }
        guard !isPausing(nowMs: nowMs) else { return }
        failed(servedMs: servedMs, isRefused: false, nowMs: nowMs, random: random)
    }

    /// A connection has served long enough.
    mutating func markStable() { failures = 0 }

    /// At least half of the time, so that every pause has an effect.
    private func spread(_ milliseconds: Int64, _ random: Double) -> Int64 {
        Int64(Double(milliseconds) * (0.5 + 0.5 * random))
    }
}
