public import StreamWire

/// Decides which record of the history a worker writes next. A record whose answer was lost is written again as it was,
/// under its number, so that Redis adds it up once.
public struct HistoryPlan {
    private var number = 1
    /// Totals up to the last record.
    private var recorded: [String: Int64]
    /// The record that Redis has not confirmed.
    private var unconfirmed: HistoryRecord?
    private var isUnanswered = false

    /// - Parameter recorded: counts that no record shall hold.
    public init(recorded: [String: Int64] = [:]) { self.recorded = recorded }

    /// The record to write now; nil while the last one is unanswered, and while the project is idle.
    ///
    /// - Parameters:
    ///   - totals: counts since the start by the names of ``HistoryRecord``.
    ///   - isWaiting: whether anything waits, which a record shows even when nothing was sent.
    public mutating func next(totals: [String: Int64], isWaiting: Bool) -> (number: Int, record: HistoryRecord)? {
        guard !isUnanswered else { return nil }
        if let unconfirmed {
            isUnanswered = true
            return (number, unconfirmed)
        }
        let record = HistoryRecord(counts: totals.reduce(into: [:]) { $0[$1.key] = $1.value - (recorded[$1.key] ?? 0) })
        // The first record tells Redis that the worker has started.
        guard number == 1 || isWaiting || !record.isEmpty else { return nil }
        recorded = totals
        unconfirmed = record
        isUnanswered = true
        return (number, record)
    }

    /// - Parameter isConfirmed: whether Redis has added the record.
    public mutating func answered(isConfirmed: Bool) {
        isUnanswered = false
        guard isConfirmed else { return }
        unconfirmed = nil
        number += 1
    }
}
