internal import FanfareJSON

/// The JSON of a legacy answer, read by shape. Wrong types make a part absent, never a trap.
struct LegacyAnswer: Equatable, Sendable {
    enum Entry: Equatable, Sendable {
        case accepted(messageID: String, canonical: String?)
        case rejected(code: String)
        /// Neither an id nor a code, or both: it proves nothing.
        case unclear
    }

    /// All 64 bits; nil when absent, as for topics and groups.
    var multicastID: Int64?
    /// One per token, in the request's order; nil when absent or not an array.
    var results: [Entry]?
    /// The answer's own word: that of a topic or condition, or an error of the whole request.
    var whole: Entry
    var group: GroupCounts?

    /// Nil when the value is not an object.
    init?(_ value: JSONValue) {
        guard let object = value.object else { return nil }
        multicastID = object["multicast_id"]?.number?.int64
        results = object["results"]?.array.map { $0.map { Self.entry($0.object) } }
        whole = Self.entry(object)
        group = GroupCounts(object)
    }

    /// An id is a string beside a token and a number beside a topic; either is kept as it is written.
    static func entry(_ object: JSONObject?) -> Entry {
        guard let object else { return .unclear }
        let messageID = object["message_id"]?.string ?? object["message_id"]?.number?.text
        let error = object["error"] ?? .null
        let code = error.string
        switch (messageID, code) {
        case (let messageID?, nil) where !messageID.isEmpty && error == .null:
            let canonical = object["registration_id"]?.string
            return .accepted(
                messageID: AnswerBody.keptID(messageID),
                canonical: canonical.flatMap { TokenText.isToken($0) ? $0 : nil }
            )
        case (nil, let code?) where !code.isEmpty:
            return .rejected(code: code)
        default:
            return .unclear
        }
    }
}
