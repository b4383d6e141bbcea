/// The records of a gateway's requests in Redis, as ``DuplicateRule`` reads them.
///
/// ```
///          push                    end: written
/// entered ──────► open in Redis ─────────────────► deleted
///    │                 │   end: left, or answered with 500 or 503
///    │ forget          └─────────────────────────► left or answered in Redis
///    ▼
///  nothing
/// ```
/// A request may end while its push is in flight: what became of it is written after the push. Until Redis has it, equal
/// requests of this gateway wait: see ``hasUnwritten(_:)``.
public struct RequestLedger: Sendable {
    /// How a request ended.
    public enum Ending: Equatable, Sendable {
        /// Its answer is written.
        case written
        /// Its client left before.
        case left
        /// Its answer is one that clients repeat by themselves.
        case answered(ServedAnswer)
    }

    /// A record to change in Redis, if it is there.
    public struct Change: Equatable, Sendable {
        public var request: UInt64
        /// The key of its fingerprint.
        public var key: String
        /// nil to delete the record.
        public var record: DuplicateRule.Record?
    }

    private struct Entry {
        var key: String
        var place: DuplicateRule.Place?
        var isPushed = false
        var ending: Ending?

        var isUnwritten: Bool { ending != nil && ending != .written }
    }

    private var entries: [UInt64: Entry] = [:]
    /// How many requests of a key ended otherwise than written, and Redis does not say so yet.
    private var unwritten: [String: Int] = [:]

    public init() {}

    /// Whether what became of a request is not in Redis yet, so that an equal one has to wait for it.
    public func hasUnwritten(_ key: String) -> Bool { unwritten[key] != nil }

    public var count: Int { entries.count }

    /// - Parameter key: of the request's fingerprint.
    public mutating func enter(_ request: UInt64, key: String) { entries[request] = Entry(key: key) }

    /// Sets the place that the next push writes. Ignored for a request that was not entered.
    public mutating func place(_ request: UInt64, at place: DuplicateRule.Place) { entries[request]?.place = place }

    /// What a push writes for a request; nil if the request has no record.
    public func record(of request: UInt64) -> (key: String, record: DuplicateRule.Record)? {
        guard let entry = entries[request], let place = entry.place else { return nil }
        return (entry.key, entry.ending == .left ? .left(place) : .open(place))
    }

    /// The request has its record in Redis now.
    public mutating func markPushed(_ request: UInt64) -> Change? {
        guard entries[request] != nil else { return nil }
        entries[request]?.isPushed = true
        return change(request)
    }

    /// The first ending counts.
    public mutating func end(_ request: UInt64, _ ending: Ending) -> Change? {
        guard var entry = entries[request], entry.ending == nil else { return nil }
        entry.ending = ending
        entries[request] = entry
        if entry.isUnwritten { countUnwritten(entry.key, 1) }
        return change(request)
    }

    /// The request was not pushed and has no record.
    public mutating func forget(_ request: UInt64) {
        guard let entry = entries.removeValue(forKey: request) else { return }
        if entry.isUnwritten { countUnwritten(entry.key, -1) }
    }

    /// Redis has some changes, or never will.
    public mutating func confirm(_ changes: some Sequence<Change>) {
        for change in changes where change.record != nil { countUnwritten(change.key, -1) }
    }

    private mutating func countUnwritten(_ key: String, _ change: Int) {
        let count = (unwritten[key] ?? 0) + change
        unwritten[key] = count > 0 ? count : nil
    }

    private mutating func change(_ request: UInt64) -> Change? {
        guard let entry = entries[request], entry.isPushed, let ending = entry.ending, let place = entry.place else {
            return nil
        }
        entries[request] = nil
        switch ending {
        case .written: return Change(request: request, key: entry.key, record: nil)
        case .left: return Change(request: request, key: entry.key, record: .left(place))
        case .answered(let answer): return Change(request: request, key: entry.key, record: .answered(answer))
        }
    }
}
