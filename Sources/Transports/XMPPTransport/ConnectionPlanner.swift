/// When to open connections, and how many: as the waiting messages ask for, and not sooner after failures than a
/// doubling pause allows.
struct ConnectionPlanner: Equatable {
    /// A connection that served for so long shows that the way is open.
    static let settledMs: Int64 = 5_000
    /// At once; more would all fail together.
    static let mostOpening = 4

    private let window: Int
    private let most: Int
    private let least: Int
    private let shortestMs: Int64
    private let longestMs: Int64

    private(set) var failures = 0
    private(set) var nextOpeningMs: Int64 = 0
    /// Leaves asked for and not answered.
    private(set) var asking = 0

    init(_ configuration: XMPPConfiguration) {
        window = min(max(1, configuration.window), 100)
        most = max(1, configuration.mostConnections)
        least = min(max(0, configuration.leastConnections), max(1, configuration.mostConnections))
        shortestMs = max(1, configuration.shortestBackoffMs)
        longestMs = max(shortestMs, configuration.longestBackoffMs)
    }

    func isPausing(nowMs: Int64) -> Bool { nowMs < nextOpeningMs }

    /// How many messages connections that are not there yet may be given to wait for.
    ///
    /// - Parameters:
    ///   - ready: connections that take messages.
    ///   - opening: connections that will.
    func promised(ready: Int, opening: Int, nowMs: Int64) -> Int {
        let coming = opening + asking
        if isPausing(nowMs: nowMs) { return coming * window }
        // After a failure one is tried before more is promised.
        if failures > 0 { return max(1, coming) * window * (ready + coming < most ? 1 : 0) }
        return max(coming, most - ready) * window
    }

    /// How many to open now.
    ///
    /// - Parameter queued: messages that no ready connection has room for.
    func wanted(queued: Int, ready: Int, opening: Int, nowMs: Int64) -> Int {
        guard !isPausing(nowMs: nowMs) else { return 0 }
        let coming = opening + asking
        let unserved = max(0, queued - coming * window)
        let demand = max((unserved + window - 1) / window, least - ready - coming)
        let limit = failures > 0 ? 1 : Self.mostOpening
        return max(0, min(demand, most - ready - coming, limit - coming))
    }

    mutating func asked() { asking += 1 }

    /// - Parameter random: in 0..<1.
    mutating func answered(_ isGranted: Bool, nowMs: Int64, random: Double) {
        asking -= 1
        guard !isGranted else { return }
        // Nothing failed; the project's connections of this minute are used up, or its number is.
        nextOpeningMs = max(nextOpeningMs, nowMs + spread(5 * shortestMs, random))
    }

    /// A connection ended, or was never made, and nobody had meant it to.
    ///
    /// - Parameters:
    ///   - servedMs: how long it was ready; nil when it never was.
    ///   - isRefused: the credential was: nothing will change within seconds.
    mutating func failed(servedMs: Int64?, isRefused: Bool, nowMs: Int64, random: Double) {
        if let servedMs, servedMs >= Self.settledMs {
            failures = 0
            // All workers lost theirs together, perhaps.
            nextOpeningMs = max(nextOpeningMs, nowMs + Int64(Double(shortestMs) * random))
            return
        }
        failures = min(failures + 1, 32)
        let doubled = isRefused ? longestMs : min(longestMs, shortestMs << Int64(min(failures - 1, 20)))
        nextOpeningMs = max(nextOpeningMs, nowMs + spread(doubled, random))
    }

    /// The peer takes nothing new on a connection. It may do so at any time; but one that does it at once each time
    /// would be asked for connection after connection. Those that are drained together are one failure.
    mutating func drained(servedMs: Int64, nowMs: Int64, random: Double) {
        if servedMs >= Self.settledMs { return settled() }
        guard !isPausing(nowMs: nowMs) else { return }
        failed(servedMs: servedMs, isRefused: false, nowMs: nowMs, random: random)
    }

    /// A connection has served long enough.
    mutating func settled() { failures = 0 }

    /// Half of it at least, so that a pause is one.
    private func spread(_ milliseconds: Int64, _ random: Double) -> Int64 {
        Int64(Double(milliseconds) * (0.5 + 0.5 * random))
    }
}
