/// Decides what a worker reports to its service manager, and when.
///
/// ```
/// starting ─► ready ─► stopping        starting ─► stopping, too
/// ```
public struct ServiceReports: Sendable {
    public enum Report: Equatable, Sendable {
        case alive
        /// The start takes longer: the worker still waits for Redis. If it were killed for that, it would wait again.
        case extendTimeout(ms: Int64)
        case ready
        case status
        case stopping
    }

    private enum Phase: Sendable { case starting, ready, stopping }

    private static let statusNs: UInt64 = 10_000_000_000

    private let watchdogNs: UInt64?
    private var phase = Phase.starting
    private var nextAlive: UInt64 = 0
    private var nextStatus: UInt64 = 0

    /// - Parameter watchdogNs: the longest time between two reports of life; nil if none are expected.
    public init(watchdogNs: UInt64?) { self.watchdogNs = watchdogNs }

    /// - Parameter now: nanoseconds of a clock that only grows.
    public mutating func next(isReady: Bool, isDraining: Bool, now: UInt64) -> [Report] {
        var reports: [Report] = []
        if let watchdogNs, now >= nextAlive {
            // Half of it, as systemd's documentation advises.
            nextAlive = now + watchdogNs / 2
            reports.append(.alive)
        }
        if isDraining, phase != .stopping {
            phase = .stopping
            reports.append(.stopping)
        } else if isReady, phase == .starting {
            phase = .ready
            nextStatus = now + Self.statusNs
            reports.append(.ready)
        } else if now >= nextStatus {
            nextStatus = now + Self.statusNs
            reports.append(phase == .starting ? .extendTimeout(ms: 3 * Int64(Self.statusNs / 1_000_000)) : .status)
        }
        return reports
    }
}
