internal import FanfareCore
internal import StreamWire

/// Results that Redis confirmed in the last seconds. A server that was killed or replaced may have lost them, and only
/// this worker knows that those recipients need no second send. With Sentinels they are kept until a replica has them, too,
/// since a primary that was cut off from its replicas takes results that the next primary will never see.
///
/// They are kept without the batches that they came from, those of small flushes side by side. At full speed there are
/// tens of thousands of them, and what is let go of seconds later has left the processor's caches: it costs more to free
/// than it did to make. What a large flush holds lies side by side already, and is kept as it is, unless most of its room
/// is not used.
struct ReplayBuffer {
    private enum Kept {
        indirect case whole(FlushBuffer)
        case together(results: Int, plain: Int, feedback: Int)
    }

    /// What was confirmed in a part of that time, and goes at once.
    private struct Span {
        let since: UInt64
        var until: UInt64
        var count = 0
        var flushes: [(source: BatchSource, kept: Kept)] = []
        var results = PackedResults()
        var plain = PlainResults()
        var feedback: [RecordCall.Feedback] = []
    }

    /// Results from which a flush may be a large one.
    private static let large = 32

    /// What `appendfsync everysec` can lose on a slow disk; see <doc:Guarantees>.
    private static let keptNs: UInt64 = 3_000_000_000
    private static let spanNs: UInt64 = keptNs / 8
    /// Bounds the memory at any speed: so many are kept, and at most a span more.
    private static let most = 50_000
    private static let mostOfSpan = most / 8

    /// The bound for results that no replica has: a failover takes longer than three seconds.
    private static let mostUnreplicated = 100_000

    private var spans: [Span] = []
    private var count = 0
    /// Loop time up to which a replica has all confirmed results; nil if replicas are not asked.
    private var replicatedUpTo: UInt64?

    /// - Parameter awaitsReplicas: whether to keep results until a replica has them; see ``markReplicated(upTo:)``.
    init(awaitsReplicas: Bool = false) { replicatedUpTo = awaitsReplicas ? 0 : nil }

    mutating func markReplicated(upTo time: UInt64) {
        if let replicatedUpTo { self.replicatedUpTo = max(replicatedUpTo, time) }
    }

    mutating func add(_ pending: FlushBuffer, of source: BatchSource, now: UInt64) {
        guard !pending.results.isEmpty else { return }
        // Only when something is confirmed, for that the server was there: while it is away none of them grows old.
        forget(before: now)
        if spans.last.map({ $0.since + Self.spanNs < now || $0.count >= Self.mostOfSpan }) ?? true {
            spans.append(Span(since: now, until: now))
        }
        let last = spans.count - 1
        spans[last].until = now
        spans[last].count += pending.results.count
        count += pending.results.count
        let isLarge = pending.results.count >= Self.large && pending.results.isDense && pending.plain.isDense
        guard !isLarge else {
            return spans[last].flushes.append((source, .whole(pending.facts)))
        }
        let kept = Kept.together(
            results: pending.results.count,
            plain: pending.plain.count,
            feedback: pending.feedback.count
        )
        spans[last].flushes.append((source, kept))
        spans[last].results.append(pending.results)
        spans[last].plain.append(pending.plain)
        spans[last].feedback += pending.feedback
    }

    private mutating func forget(before now: UInt64) {
        while let first = spans.first {
            let isAwaited = replicatedUpTo.map { first.until >= $0 } ?? false
            let isExpired = !isAwaited && first.until + Self.keptNs < now
            guard isExpired || count - first.count >= (isAwaited ? Self.mostUnreplicated : Self.most) else { return }
            count -= first.count
            spans.removeFirst()
        }
    }

    /// All that is kept, flush by flush, in the order of their confirmations.
    mutating func takeAll() -> [(source: BatchSource, facts: FlushBuffer)] {
        defer {
            spans = []
            count = 0
        }
        return spans.flatMap(Self.facts)
    }

    private static func facts(of span: Span) -> [(source: BatchSource, facts: FlushBuffer)] {
        var (results, plain, feedback): ([Int], [Int], [Int]) = ([], [], [])
        for case (_, .together(let ofResults, let ofPlain, let ofFeedback)) in span.flushes {
            results.append(ofResults)
            plain.append(ofPlain)
            feedback.append(ofFeedback)
        }
        var nextResults = span.results.divided(into: results).makeIterator()
        var nextPlain = span.plain.divided(into: plain).makeIterator()
        var leftFeedback = span.feedback[...]
        return span.flushes.map { source, kept in
            switch kept {
            case .whole(let facts): return (source, facts)
            case .together(_, _, let ofFeedback):
                var facts = FlushBuffer()
                facts.results = nextResults.next() ?? PackedResults()
                facts.plain = nextPlain.next() ?? PlainResults()
                facts.feedback = Array(leftFeedback.prefix(ofFeedback))
                leftFeedback = leftFeedback.dropFirst(ofFeedback)
                return (source, facts)
            }
        }
    }
}
