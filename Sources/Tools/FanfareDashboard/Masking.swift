internal import FanfareClient
internal import FanfareJSON
internal import FanfareModel

/// Masks registration tokens, for users who may look but not act.
enum Masking {
    /// The first six characters of a token, and its length.
    static func token(_ token: String) -> String { TokenStory.masked(token) }

    /// A topic and a condition are no secrets; anyone who knows a token, an installation id or a group's key can send to it.
    static func recipient(of result: JobResult) -> String {
        switch result.kind {
        case .topic, .condition: result.recipient
        default: token(result.recipient)
        }
    }

    /// A result's object, with its tokens masked if asked for.
    static func object(_ result: JobResult, isMasked: Bool) -> JSONObject {
        guard isMasked else { return result.json }
        var object = result.json
        object[result.kind.rawValue] = .string(recipient(of: result))
        if let canonical = result.canonical { object["canonical"] = .string(token(canonical)) }
        if let group = object["group"]?.string { object["group"] = .string(token(group)) }
        if !result.failedTokens.isEmpty {
            object["failed_tokens"] = .array(result.failedTokens.map { .string(token($0)) })
        }
        return object
    }

    /// A message in which the value of each member whose name ends with `token` or `tokens` is masked.
    static func message(_ value: JSONValue) -> JSONValue {
        switch value {
        case .array(let elements): return .array(elements.map(message))
        case .object(let object):
            let members = object.members.map { member -> JSONObject.Member in
                let name = member.key.lowercased()
                let isSecret = name.hasSuffix("token") || name.hasSuffix("tokens")
                return JSONObject.Member(
                    key: member.key,
                    value: isSecret ? masked(member.value) : message(member.value)
                )
            }
            return .object(JSONObject(members))
        default: return value
        }
    }

    private static func masked(_ value: JSONValue) -> JSONValue {
        switch value {
        case .string(let text): .string(token(text))
        case .array(let elements): .array(elements.map(masked))
        default: message(value)
        }
    }
}
