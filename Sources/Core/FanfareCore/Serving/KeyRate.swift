/// Token bucket of one key. It holds the requests of one second, at least ``minimumBurst``, at most the requests of one
/// minute.
///
/// Its whole state is the time at which the bucket is full again: each request moves that time by one interval.
public struct KeyRate: Sendable {
    /// An SDK sends the messages of one call in parallel, up to 500 of them, and some do not repeat a 429.
    static let minimumBurst: UInt64 = 500

    /// Requests a minute.
    public let rate: Int
    /// Rounded up, so that the rate is not exceeded.
    private let intervalNs: UInt64
    /// How far ``fullNs`` may be ahead before a request: all intervals of a full bucket but one.
    private let burstNs: UInt64
    private var fullNs: UInt64 = 0

    /// - Parameter rate: requests a minute, at least 1.
    public init(_ rate: Int) {
        precondition(rate >= 1, "a rate of \(rate)")
        self.rate = rate
        let (minuteNs, requests): (UInt64, UInt64) = (60_000_000_000, UInt64(rate))
        intervalNs = max(1, (minuteNs - 1) / requests + 1)
        burstNs = (min(requests, max(Self.minimumBurst, requests / 60)) - 1) * intervalNs
    }

    /// Counts one request.
    ///
    /// - Parameter now: nanoseconds of a clock that is never set.
    /// - Throws: ``KeyFault/rate(retrySeconds:)`` if the bucket is empty; the request counts for nothing then.
    public mutating func admit(now: UInt64) throws(KeyFault) {
        let startNs = max(fullNs, now)
        let aheadNs = startNs - now
        guard aheadNs <= burstNs else { throw .rate(retrySeconds: KeyFault.retrySeconds(aheadNs - burstNs)) }
        fullNs = startNs.adding(intervalNs)
    }
}
