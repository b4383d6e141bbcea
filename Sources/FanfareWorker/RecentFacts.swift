internal import StreamWire

/// Results that Redis confirmed in the last seconds. A server that was killed or replaced may have lost them, and only
/// this worker knows that those recipients need no second send.
struct RecentFacts {
    private struct Entry {
        let batch: ActiveBatch
        let facts: PendingRecord
        let at: UInt64
    }

    /// What `appendfsync everysec` can lose on a slow disk; see <doc:Guarantees>.
    private static let keptNs: UInt64 = 3_000_000_000
    /// Bounds the memory at any speed.
    private static let most = 50_000

    private var entries: [Entry] = []
    private var head = 0
    private var count = 0

    mutating func add(_ facts: PendingRecord, batch: ActiveBatch, now: UInt64) {
        guard !facts.results.isEmpty else { return }
        entries.append(Entry(batch: batch, facts: facts, at: now))
        count += facts.results.count
        while head < entries.count, count > Self.most || entries[head].at + Self.keptNs < now {
            count -= entries[head].facts.results.count
            head += 1
        }
        // What is over holds tokens and ids: thousands of them behind each dozen of entries.
        guard head > 32, head > entries.count / 4 else { return }
        entries.removeFirst(head)
        head = 0
    }

    mutating func takeAll() -> [(batch: ActiveBatch, facts: PendingRecord)] {
        defer { self = RecentFacts() }
        return entries[head...].map { ($0.batch, $0.facts) }
    }
}
