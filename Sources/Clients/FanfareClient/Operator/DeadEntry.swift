public import StreamWire

/// One entry of a project's `dead` stream: a job that needs a person.
public struct DeadEntry: Sendable {
    /// An open set: later versions may add kinds.
    public struct Kind: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
        public var description: String { rawValue }

        /// Broke a rule; nothing was sent.
        public static let rejected = Kind(rawValue: "rejected")
        /// Stopped on its way; what is unfinished is kept.
        public static let parked = Kind(rawValue: "parked")
    }

    /// The id in `dead`, which replay and drop take.
    public var id: String
    public var job: String
    public var kind: Kind
    public var reason: String
    /// What the job's entry in `jobs` had as its id.
    public var entryID: String
    /// When it got here, Unix milliseconds.
    public var atMs: Int64?
    /// What else was written about it, such as the batch that took its workers down.
    public var evidence: [(name: String, value: String)]
    /// The fields that the producer pushed: values byte for byte, names that are not UTF-8 with U+FFFD.
    public var originals: [(name: String, value: [UInt8])]

    /// - Throws: ``FanfareClientError`` when the entry is not what a worker writes.
    public init(_ entry: StreamEntry) throws(FanfareClientError) {
        var known: [String: String] = [:]
        evidence = []
        originals = []
        for (name, value) in entry.fields {
            // Compare bytes: a combining mark at the start of a name forms one character with the dot.
            if name.utf8.starts(with: "f.".utf8) {
                originals.append((String(decoding: name.utf8.dropFirst(2), as: UTF8.self), value))
            } else if ["job", "kind", "reason", "entry_id", "at_ms"].contains(name) {
                known[name] = String(decoding: value, as: UTF8.self)
            } else {
                evidence.append((name, String(decoding: value, as: UTF8.self)))
            }
        }
        guard let job = known["job"], let kind = known["kind"] else {
            throw FanfareClientError(.unexpectedReply, "dead entry \(entry.id) lacks a field")
        }
        id = entry.id
        self.job = job
        self.kind = Kind(rawValue: kind)
        reason = known["reason"] ?? ""
        entryID = known["entry_id"] ?? ""
        atMs = known["at_ms"].flatMap { Int64($0) }.flatMap { (0...99_999_999_999_999).contains($0) ? $0 : nil }
    }
}
