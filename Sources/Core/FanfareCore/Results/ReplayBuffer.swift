internal import StreamWire

/// Results that Redis confirmed in the last seconds, to be written again if a server that was killed or replaced lost them.
/// With Sentinels they are kept until a replica has them: a primary that was cut off takes results which the next never sees.
///
/// The results of many flushes share their memory: at full speed tens of thousands of flushes would cost more to free
/// than to fill.
public struct ReplayBuffer {
    /// A flush without its results, which stand side by side with the results of other flushes.
    private struct Kept {
        let source: BatchSource
        let results: Int
        let feedback: [RecordCall.Feedback]
        let subscribed: [UInt8]
    }

    /// Flushes that were confirmed in a part of the time, and are forgotten at once.
    private struct Span {
        let since: UInt64
        var until: UInt64
        var flushes: [Kept] = []
        var results = ResultBuffer()

        /// Whether so many results need another span.
        func hasEnded(before now: UInt64, with results: Int) -> Bool {
            self.results.count + results > ReplayBuffer.maximumOfSpan || since + ReplayBuffer.spanNs < now
        }
    }

    /// What `appendfsync everysec` can lose on a slow disk; see the page Guarantees.
    private static let keptNs: UInt64 = 3_000_000_000
    private static let spanNs: UInt64 = keptNs / 8
    /// Maximum number of kept results. One more span may be held while it fills.
    private static let most = 50_000
    private static let maximumOfSpan = most / 8
    /// The bound for results that no replica has: a failover takes longer than three seconds.
    private static let maximumUnreplicated = 100_000

    private var spans: [Span] = []
    private var count = 0
    /// When a replica had everything that was confirmed before; nil if replicas are not asked.
    private var replicatedUpTo: UInt64?

    /// - Parameter awaitsReplicas: whether to keep results until a replica has them; see ``markReplicated(upTo:)``.
    public init(awaitsReplicas: Bool = false) { replicatedUpTo = awaitsReplicas ? 0 : nil }

    public var isEmpty: Bool { spans.isEmpty }

    /// - Parameter time: nanoseconds on a clock that is never set, as everywhere here.
    public mutating func markReplicated(upTo time: UInt64) {
        if let replicatedUpTo { self.replicatedUpTo = max(replicatedUpTo, time) }
    }

    /// Keeps the results of a confirmed flush, unless it was late.
    public mutating func append(_ flush: Flush, now: UInt64) {
        let results = flush.call.results.count
        guard !flush.call.late, results > 0 else { return }
        // Only here, because Redis has just answered: nothing expires while it is away.
        forget(before: now)
        if spans.isEmpty || spans[spans.count - 1].hasEnded(before: now, with: results) {
            var span = Span(since: now, until: now)
            // A buffer that grows by doubling takes twice its memory.
            if let last = spans.last { span.results.reserve(like: last.results) }
            spans.append(span)
        }
        let last = spans.count - 1
        spans[last].until = now
        spans[last].flushes.append(
            Kept(
                source: flush.source,
                results: results,
                feedback: flush.call.feedback,
                subscribed: flush.call.subscribed
            )
        )
        spans[last].results.append(flush.call.results)
        count += results
    }

    private mutating func forget(before now: UInt64) {
        while !spans.isEmpty {
            let (until, results) = (spans[0].until, spans[0].results.count)
            let isAwaited = replicatedUpTo.map { until >= $0 } ?? false
            let isExpired = !isAwaited && until + Self.keptNs < now
            let most = isAwaited ? Self.maximumUnreplicated : Self.most
            guard isExpired || count - results >= most else { return }
            count -= results
            spans.removeFirst()
        }
    }

    /// Removes all flushes, in the order of their confirmations.
    public mutating func removeAll() -> [Flush] {
        defer {
            spans = []
            count = 0
        }
        return spans.flatMap { span in
            zip(span.flushes, span.results.divided(into: span.flushes.map(\.results))).map { kept, results in
                var call = RecordCall(kept.source)
                call.results = results
                call.feedback = kept.feedback
                call.subscribed = kept.subscribed
                return Flush(slot: nil, source: kept.source, call: call)
            }
        }
    }
}
