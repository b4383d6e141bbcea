internal import DequeModule
internal import EventLoop
internal import FanfareMetrics

/// Spans that have ended and wait for the exporter. When it is full, new spans are dropped and counted: memory is bounded,
/// and no caller ever waits.
final class SpanQueue: Sendable {
    let capacity: Int
    private let spans = Locked<Deque<SpanRecord>>([])
    private let dropped: CounterCell

    init(capacity: Int, dropped: CounterCell) {
        self.capacity = capacity
        self.dropped = dropped
    }

    var count: Int { spans.withLock { $0.count } }

    func append(_ span: SpanRecord) {
        let hasRoom = spans.withLock { spans in
            guard spans.count < capacity else { return false }
            spans.append(span)
            return true
        }
        if !hasRoom { dropped.add() }
    }

    /// The oldest spans, which stay in the queue.
    func first(_ limit: Int) -> [SpanRecord] { spans.withLock { Array($0.prefix(limit)) } }

    /// Only the exporter removes, so the oldest spans are the ones that it has read.
    func removeFirst(_ count: Int) { spans.withLock { $0.removeFirst(min(count, $0.count)) } }
}
