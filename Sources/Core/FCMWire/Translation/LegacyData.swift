internal import FanfareJSON

/// Converts data values to strings: legacy leaves that to the sender, and v1 allows nothing else.
enum LegacyData {
    /// The message with every value of `data` as a string.
    static func withTextValues(_ message: JSONObject) throws(TranslationError) -> JSONObject {
        guard let data = message["data"], data != .null else { return message }
        guard let object = data.object else {
            throw TranslationError(["data"], "must be an object, not \(data.kindName)")
        }
        var members = object.members
        for index in members.indices {
            let value = members[index].value
            switch value {
            case .string: continue
            // Clients disagree on a text for null.
            case .null: throw TranslationError(["data", members[index].key], "null has no text form")
            case .bool, .number, .array, .object: members[index].value = .string(value.jsonText)
            }
        }
        var result = message
        result["data"] = .object(JSONObject(members))
        return result
    }
}
