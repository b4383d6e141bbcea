internal import StreamWire

/// Counts of request latencies in fixed buckets, as workers record them. Histograms of several workers and times add up.
public struct LatencyHistogram: Equatable, Sendable {
    /// The upper bounds of all buckets but the last, milliseconds, ascending.
    public static let boundsMs: [Double] = HistoryRecord.latencyBoundsMs

    /// Requests in each bucket; the last one counts those above all bounds.
    public var counts: [Int64] = Array(repeating: 0, count: boundsMs.count + 1)

    public init() {}

    /// The number of requests.
    public var count: Int64 { counts.reduce(0, +) }

    public static func += (left: inout LatencyHistogram, right: LatencyHistogram) {
        for index in left.counts.indices where index < right.counts.count { left.counts[index] += right.counts[index] }
    }

    /// The latency that a share of the requests did not exceed, milliseconds, interpolated within its bucket; the highest
    /// bound when it lies above all bounds, and nil without a request.
    /// - Parameter share: 0 to 1, such as 0.95.
    public func percentile(_ share: Double) -> Double? {
        let total = count
        guard total > 0 else { return nil }
        let wanted = min(1, max(0, share)) * Double(total)
        var before = 0.0
        for (index, bound) in Self.boundsMs.enumerated() where counts[index] > 0 {
            let inside = Double(counts[index])
            if before + inside >= wanted {
                let lower = index == 0 ? 0 : Self.boundsMs[index - 1]
                return lower + (bound - lower) * max(0, wanted - before) / inside
            }
            before += inside
        }
        return Self.boundsMs.last
    }
}
