import FanfareJSON

/// The legacy reference's rules for a message's values.
enum LegacyRules {
    static func check(_ object: JSONObject, target: LegacySend.Target) throws(LegacyRequestError) {
        let recipients = target.listedCount
        if let priority = object["priority"]?.string, priority != "normal", priority != "high" {
            throw .sentence("InvalidParameters: Invalid value (\(priority)) for \"priority\"")
        }
        if let lifetime = object["time_to_live"]?.number, !isTTL(lifetime.int64) {
            let sentence = "Invalid value (\(lifetime.text)) for \"time_to_live\": must be between 0 and 2419200"
            throw .code("InvalidTtl", recipients: recipients, observed: sentence)
        }
        if let key = object["data"]?.object?.members.first(where: { V1Rules.isReserved($0.key) })?.key {
            let sentence = "\"data\" key \"\(key)\" is a reserved keyword"
            throw .code("InvalidDataKey", recipients: recipients, observed: sentence)
        }
        let size = PayloadSize.of(object["data"]) + PayloadSize.of(object["notification"])
        let limit = recipients == nil ? 2_048 : 4_096
        if size > limit {
            throw .code("MessageTooBig", recipients: recipients, observed: "Message is too big")
        }
    }

    static func isTTL(_ seconds: Int64?) -> Bool {
        (0...V1Rules.longestTTLSeconds).contains(seconds ?? -1)
    }
}
