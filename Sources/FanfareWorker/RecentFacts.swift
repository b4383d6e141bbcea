internal import FanfareCore
internal import StreamWire

/// Results that Redis confirmed in the last seconds. A server that was killed or replaced may have lost them, and only
/// this worker knows that those recipients need no second send.
///
/// They are kept side by side and without the batches that they came from. At full speed there are tens of thousands of
/// them, and what is let go of seconds later has left the processor's caches: it costs more to free than it did to make.
struct RecentFacts {
    /// What was confirmed in a part of that time, and goes at once.
    private struct Span {
        let since: UInt64
        var until: UInt64
        var flushes: [(source: BatchSource, results: Int, plain: Int, feedback: Int)] = []
        var results = PackedResults()
        var plain: [PlainResult] = []
        var feedback: [RecordCall.Feedback] = []
    }

    /// What `appendfsync everysec` can lose on a slow disk; see <doc:Guarantees>.
    private static let keptNs: UInt64 = 3_000_000_000
    private static let spanNs: UInt64 = keptNs / 8
    /// Bounds the memory at any speed: so many are kept, and at most a span more.
    private static let most = 50_000
    private static let mostOfSpan = most / 8

    private var spans: [Span] = []
    private var count = 0

    mutating func add(_ pending: PendingRecord, of source: BatchSource, now: UInt64) {
        guard !pending.results.isEmpty else { return }
        // Only when something is confirmed, for that the server was there: while it is away none of them grows old.
        forget(before: now)
        if spans.last.map({ $0.since + Self.spanNs < now || $0.results.count >= Self.mostOfSpan }) ?? true {
            spans.append(Span(since: now, until: now))
        }
        let last = spans.count - 1
        spans[last].until = now
        spans[last].flushes.append((source, pending.results.count, pending.plain.count, pending.feedback.count))
        spans[last].results.append(pending.results)
        spans[last].plain += pending.plain
        spans[last].feedback += pending.feedback
        count += pending.results.count
    }

    private mutating func forget(before now: UInt64) {
        while let first = spans.first, count - first.results.count >= Self.most || first.until + Self.keptNs < now {
            count -= first.results.count
            spans.removeFirst()
        }
    }

    /// All that is kept, flush by flush, in the order of their confirmations.
    mutating func takeAll() -> [(source: BatchSource, facts: PendingRecord)] {
        defer { self = RecentFacts() }
        return spans.flatMap { span in
            let results = span.results.divided(into: span.flushes.map(\.results))
            var (plain, feedback) = (span.plain[...], span.feedback[...])
            return zip(span.flushes, results).map { flush, results in
                var facts = PendingRecord()
                facts.results = results
                facts.plain = Array(plain.prefix(flush.plain))
                facts.feedback = Array(feedback.prefix(flush.feedback))
                plain = plain.dropFirst(flush.plain)
                feedback = feedback.dropFirst(flush.feedback)
                return (flush.source, facts)
            }
        }
    }
}
