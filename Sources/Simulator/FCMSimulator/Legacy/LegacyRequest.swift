import FanfareJSON

/// A well-formed legacy send.
struct LegacySend: Equatable, Sendable {
    enum Target: Equatable, Sendable {
        /// `to`: a token or a group's key.
        case single(String)
        case multicast([String])
        case audience(Audience)

        /// The recipients that the answer lists; nil for topics and conditions, whose answer has no list.
        var listedCount: Int? {
            switch self {
            case .single: return 1
            case .multicast(let tokens): return tokens.count
            case .audience: return nil
            }
        }
    }

    var target: Target
    var dryRun: Bool
    var traits: MessageTraits
    var isPlainText = false
    var body: [UInt8]
}

/// Why a legacy request is refused before any device is looked up.
enum LegacyRequestError: Error, Equatable, Sendable {
    /// Status 400 and a sentence.
    case sentence(String)
    /// Status 200 and this code for each recipient, nil for a topic; `observed` is the live server's sentence instead.
    case code(String, recipients: Int?, isPlainText: Bool = false, observed: String)
}

enum LegacyRequest {
    static let maximumTokens = 1_000

    static func read(_ body: [UInt8]) throws(LegacyRequestError) -> LegacySend {
        let object = try JSONObject(body, limits: JSONLimits(maximumDepth: 32, maximumBytes: 4 << 20)) { error in
            guard let error else {
                return LegacyRequestError.sentence("JSON_PARSING_ERROR: Expected an object at position 0.")
            }
            let found =
                error.offset >= body.count
                ? "Unexpected token END OF FILE"
                : "Unexpected character (\(String(decoding: [body[max(error.offset, 0)]], as: UTF8.self)))"
            return .sentence("JSON_PARSING_ERROR: \(found) at position \(error.offset).")
        }
        return try read(object, body: body)
    }

    /// - Parameter body: the bytes of the request, from which a delivery's content is read on request.
    static func read(_ object: JSONObject, body: [UInt8]) throws(LegacyRequestError) -> LegacySend {
        if let sentence = LegacySchema.firstBroken(by: object) { throw .sentence(sentence) }
        let target = try target(of: object)
        try LegacyRules.check(object, target: target)
        return LegacySend(
            target: target,
            dryRun: object["dry_run"]?.bool ?? false,
            traits: LegacyOptions.traits(of: object, isForTopics: target.listedCount == nil),
            body: body
        )
    }

    private static func target(of object: JSONObject) throws(LegacyRequestError) -> LegacySend.Target {
        let to = object["to"]?.string
        let tokens = object["registration_ids"]?.array
        let condition = object["condition"]?.string
        if to != nil, tokens != nil {
            throw .sentence("Must use either \"registration_ids\" field or \"to\", not both")
        }
        if condition != nil, to != nil || tokens != nil {
            throw .sentence("Must use either \"condition\" field or \"to\" or \"registration_ids\", not both")
        }
        if let tokens {
            guard !tokens.isEmpty else { throw .sentence("\"registration_ids\" field cannot be empty") }
            guard tokens.count <= maximumTokens else {
                throw .sentence(
                    "Number of messages on bulk (\(tokens.count)) exceeds maximum allowed (\(maximumTokens))"
                )
            }
            return .multicast(tokens.compactMap(\.string))
        }
        if let condition {
            // HTTP v1 allows five topics; the legacy protocols allow two operators.
            guard let parsed = Condition(condition), parsed.topics.count <= 3 else {
                throw .sentence("InvalidParameters: Invalid value for \"condition\"")
            }
            return .audience(.condition(parsed))
        }
        guard let to, !to.isEmpty else {
            throw .code("MissingRegistration", recipients: 1, observed: "Missing \"registration_ids\" field")
        }
        guard to.hasPrefix("/topics/") else { return .single(to) }
        let topic = String(to.dropFirst("/topics/".count))
        guard Recipients.isTopic(topic) else { throw .sentence("InvalidParameters: Invalid topic name in \"to\"") }
        return .audience(.topic(topic))
    }
}

/// The names and types of a legacy body.
enum LegacySchema {
    private enum Kind { case string, bool, number, object, strings, badge, sound, arguments }

    private static let fields: [ExactText: Kind] = [
        "to": .string, "registration_ids": .strings, "condition": .string, "collapse_key": .string,
        "priority": .string, "content_available": .bool, "mutable_content": .bool, "time_to_live": .number,
        "restricted_package_name": .string, "dry_run": .bool, "delay_while_idle": .bool, "data": .object,
        "notification": .object,
    ]

    private static let notification: [ExactText: Kind] = [
        "title": .string, "body": .string, "subtitle": .string, "sound": .sound, "badge": .badge, "icon": .string,
        "android_channel_id": .string, "tag": .string, "color": .string, "click_action": .string,
        "body_loc_key": .string, "title_loc_key": .string, "body_loc_args": .arguments,
        "title_loc_args": .arguments, "image": .string,
    ]

    /// A sentence about the first wrong name or type; nil if all are right.
    static func firstBroken(by object: JSONObject) -> String? {
        if let sentence = check(object, fields, path: "") { return sentence }
        guard let shown = object["notification"]?.object else { return nil }
        return check(shown, notification, path: "notification.")
    }

    private static func check(_ object: JSONObject, _ kinds: [ExactText: Kind], path: String) -> String? {
        for member in object.members {
            let name = path + member.key
            guard let kind = kinds[member.key] else { return "InvalidParameters: Unknown field \"\(name)\"" }
            if !fits(member.value, kind) {
                let shown = String(member.value.jsonText.prefix(200))
                return "Field \"\(name)\" must be \(words(kind)): \(shown)"
            }
        }
        return nil
    }

    private static func fits(_ value: JSONValue, _ kind: Kind) -> Bool {
        switch (kind, value) {
        case (.string, .string), (.bool, .bool), (.number, .number), (.object, .object): return true
        case (.strings, .array(let items)): return items.allSatisfy { $0.string != nil }
        case (.badge, .string), (.badge, .number): return true
        case (.sound, .string), (.sound, .object): return true
        case (.arguments, .array(let items)): return items.allSatisfy { $0.string != nil }
        case (.arguments, .string(let text)):
            guard case .array(let items)? = try? JSONParser.parse(Array(text.utf8)) else { return false }
            return items.allSatisfy { $0.string != nil }
        default: return false
        }
    }

    private static func words(_ kind: Kind) -> String {
        switch kind {
        case .string, .badge, .sound: return "a JSON string"
        case .bool: return "a JSON boolean"
        case .number: return "a JSON number"
        // The live server calls an object an array too.
        case .object, .strings, .arguments: return "a JSON array"
        }
    }
}
