/// Decides when projects that could not be opened are tried again: after a second, and after twice the pause each time,
/// up to a minute.
///
/// Times are nanoseconds on a clock that is never set.
public struct OpenRetries: Sendable {
    private struct Failure {
        var pauseMs: Int64
        var due: UInt64
    }

    private static let firstPauseMs: Int64 = 1_000
    private static let longestPauseMs: Int64 = 60_000

    private var failures: [String: Failure] = [:]

    public init() {}

    /// Whether the project may be opened now.
    public func admits(_ project: String, now: UInt64) -> Bool { failures[project].map { $0.due <= now } ?? true }

    /// - Returns: milliseconds until the project is tried again.
    public mutating func failed(_ project: String, now: UInt64) -> Int64 {
        let pauseMs = failures[project].map { min(2 * $0.pauseMs, Self.longestPauseMs) } ?? Self.firstPauseMs
        failures[project] = Failure(pauseMs: pauseMs, due: now + UInt64(pauseMs) * 1_000_000)
        return pauseMs
    }

    public mutating func opened(_ project: String) { failures[project] = nil }

    /// The configuration has changed: every project may be opened at once.
    public mutating func reset() { failures = [:] }
}
