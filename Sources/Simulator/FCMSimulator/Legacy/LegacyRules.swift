import FanfareJSON

/// The legacy reference's rules for a message's values.
enum LegacyRules {
    static func check(_ object: JSONObject, target: LegacySend.Target) throws(LegacyRefusal) {
        let recipients = count(target)
        if let priority = object["priority"]?.string, priority != "normal", priority != "high" {
            throw .sentence("InvalidParameters: Invalid value (\(priority)) for \"priority\"")
        }
        if let lifetime = object["time_to_live"]?.number, !isTTL(lifetime.int64) {
            throw .code(
                "InvalidTtl",
                recipients: recipients,
                observed: ttlSentence(lifetime.text)
            )
        }
        if let key = object["data"]?.object?.members.first(where: { V1Rules.isReserved($0.key) })?.key {
            throw .code(
                "InvalidDataKey",
                recipients: recipients,
                observed: "\"data\" key \"\(key)\" is a reserved keyword"
            )
        }
        let size = PayloadSize.of(object["data"]) + PayloadSize.of(object["notification"])
        let limit = recipients == nil ? 2_048 : 4_096
        if size > limit {
            throw .code("MessageTooBig", recipients: recipients, observed: "Message is too big")
        }
    }

    static func isTTL(_ seconds: Int64?) -> Bool {
        guard let seconds else { return false }
        return seconds >= 0 && seconds <= V1Rules.longestTTLSeconds
    }

    static func ttlSentence(_ text: String) -> String {
        "Invalid value (\(text)) for \"time_to_live\": must be between 0 and 2419200"
    }

    /// The recipients; nil for topics and conditions, whose answer has no list.
    private static func count(_ target: LegacySend.Target) -> Int? {
        switch target {
        case .single: return 1
        case .multicast(let tokens): return tokens.count
        case .topic, .condition: return nil
        }
    }
}
