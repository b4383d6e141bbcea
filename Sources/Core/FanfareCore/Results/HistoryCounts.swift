public import FanfareModel
public import StreamWire

/// What a worker did in one project since the last record of its history. Metrics do not know it: beyond the maximum number
/// of series, projects share one.
public struct HistoryCounts: Sendable {
    private var (sent, failed, unknown): (Int64, Int64, Int64) = (0, 0, 0)
    private var errors: [ErrorCode: Int64] = [:]
    private var latencies = [Int64](repeating: 0, count: HistoryRecord.latencyBoundsMs.count + 1)
    private var retries: Int64 = 0
    private var maybeDuplicates: Int64 = 0
    /// Whether nothing was counted.
    public private(set) var isEmpty = true

    public init() {}

    /// Counts the result of a recipient. The history has no recipients that were cancelled or expired.
    public mutating func finished(_ status: ResultStatus, _ error: ErrorCode?, maybeDup: Bool) {
        switch status {
        case .sent: sent += 1
        case .failed: failed += 1
        case .unknown: unknown += 1
        case .cancelled, .expired: if !maybeDup { return }
        }
        if status == .failed, let error { errors[error, default: 0] += 1 }
        if maybeDup { maybeDuplicates += 1 }
        isEmpty = false
    }

    /// Counts a recipient that is sent to again later.
    public mutating func retried() {
        retries += 1
        isEmpty = false
    }

    /// Counts the latency of a request.
    public mutating func answered(afterMs milliseconds: Double) {
        let bounds = HistoryRecord.latencyBoundsMs
        latencies[bounds.firstIndex { milliseconds <= $0 } ?? bounds.count] += 1
        isEmpty = false
    }

    /// Ends the counts: the record of them, after which nothing is counted.
    public mutating func take() -> HistoryRecord {
        guard !isEmpty else { return HistoryRecord() }
        var counts = [HistoryRecord.retries: retries, HistoryRecord.maybeDup: maybeDuplicates]
        for (status, count) in [(ResultStatus.sent, sent), (.failed, failed), (.unknown, unknown)] {
            counts[HistoryRecord.status(status)] = count
        }
        for (error, count) in errors { counts[HistoryRecord.error(error.rawValue)] = count }
        for (bucket, count) in latencies.enumerated() { counts[HistoryRecord.latency(bucket)] = count }
        self = HistoryCounts()
        return HistoryRecord(counts: counts)
    }
}
