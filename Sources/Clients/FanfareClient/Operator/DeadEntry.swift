package import FanfareJSON
public import StreamWire

/// An entry of a project's `dead` stream: a job that needs an operator.
public struct DeadEntry: Sendable {
    /// An open set: later versions may add kinds.
    public struct Kind: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
        public var description: String { rawValue }

        /// The job broke a rule; nothing was sent.
        public static let rejected = Kind(rawValue: "rejected")
        /// The job stopped before its end; its unfinished recipients are kept.
        public static let parked = Kind(rawValue: "parked")
    }

    /// The id in `dead`, for replay and drop.
    public var id: String
    public var job: String
    public var kind: Kind
    public var reason: String
    /// The id of the job's entry in `jobs`.
    public var entryID: String
    /// When the entry was written, Unix milliseconds.
    public var atMs: Int64?
    /// Further fields, such as the batch that crashed its workers.
    public var evidence: [(name: String, value: String)]
    /// The fields that the producer pushed. Values are unchanged; invalid UTF-8 in names is replaced by U+FFFD.
    public var originals: [(name: String, value: [UInt8])]

    /// - Throws: ``FanfareClientError`` if no worker wrote the entry.
    public init(_ entry: StreamEntry) throws(FanfareClientError) {
        guard let job = entry.text("job"), let kind = entry.text("kind") else {
            throw FanfareClientError(.unexpectedReply, "dead entry \(entry.id) lacks a field")
        }
        evidence = []
        originals = []
        for (name, value) in entry.fields {
            // Compare bytes: a combining mark at the start of a name forms one character with the dot.
            if name.utf8.starts(with: "f.".utf8) {
                originals.append((String(decoding: name.utf8.dropFirst(2), as: UTF8.self), value))
            } else if !["job", "kind", "reason", "entry_id", "at_ms"].contains(name) {
                evidence.append((name, String(decoding: value, as: UTF8.self)))
            }
        }
        id = entry.id
        self.job = job
        self.kind = Kind(rawValue: kind)
        reason = entry.text("reason") ?? ""
        entryID = entry.text("entry_id") ?? ""
        atMs = entry.text("at_ms").flatMap { Int64($0) }.flatMap { (0...99_999_999_999_999).contains($0) ? $0 : nil }
    }

    /// The entry as JSON, without the pushed fields, which may be large.
    package var json: JSONObject {
        var object: JSONObject = [
            "entry": .string(id), "kind": .string(kind.rawValue), "job": .string(job), "reason": .string(reason),
            "entry_id": .string(entryID),
        ]
        object["at_ms"] = atMs.map { .number(JSONNumber($0)) }
        let members = evidence.map { JSONObject.Member(key: $0.name, value: .string($0.value)) }
        if !members.isEmpty { object["evidence"] = .object(JSONObject(members)) }
        return object
    }
}
