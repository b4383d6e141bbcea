public import StreamWire

/// Decides which record of the history a worker writes next. A record whose answer was lost is written again as it was,
/// under its number, so that Redis adds it up once.
public struct HistoryPlan {
    private var number = 1
    /// The record that Redis has not confirmed.
    private var unconfirmed: HistoryRecord?
    private var isUnanswered = false

    public init() {}

    /// The record to write now; nil while the last one is unanswered, and while the project is idle.
    ///
    /// - Parameters:
    ///   - counts: what was counted since the last new record; they begin again with each new one.
    ///   - isWaiting: whether anything waits, which a record shows even when nothing was sent.
    public mutating func next(
        _ counts: inout HistoryCounts,
        isWaiting: Bool
    ) -> (number: Int, record: HistoryRecord)? {
        guard !isUnanswered else { return nil }
        if let unconfirmed {
            isUnanswered = true
            return (number, unconfirmed)
        }
        // The first record tells Redis that the worker has started.
        guard number == 1 || isWaiting || !counts.isEmpty else { return nil }
        let record = counts.take()
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
