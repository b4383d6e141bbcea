internal import FanfareJSON
public import FanfareModel

/// The body of `POST /v1/projects/{p}/messages:send`: one message with its target, for FCM to deliver or only to check.
///
/// All other rules of the message are the rules of every job: `EntryCheck` has them.
///
/// It is as lenient as FCM: `null` is an absent field, and `validate_only` has two spellings. A topic may begin with
/// `/topics/`, as in a job. A byte order mark is skipped (`gateway-facts.md` 8.13).
public struct V1Request: Equatable, Sendable {
    /// The longest body, unpacked (contract 8).
    public static let maximumBytes = 65_536

    /// `token`, `fid`, `topic` or `condition`.
    public let kind: RecipientKind
    /// The token, the fid, the bare name of the topic, or the condition.
    public let recipient: String
    /// The field `message` of a job: the message without its target as compact JSON, its members in the client's order.
    /// Requests that differ in their target and in white space only have equal bytes.
    public let message: [UInt8]
    public let validateOnly: Bool

    /// - Throws: the first fault, in the order: JSON, the body's members, the target.
    public init(_ body: [UInt8]) throws(V1Fault) {
        let root = try Self.object(body)
        if let name = root.duplicateKey { throw V1Fault(shape: Excerpt.plain(name), "given more than once") }
        var message: JSONValue?
        var checking: (name: String, value: Bool)?
        for member in root.members {
            switch member.key {
            case "message": message = member.value
            case "validate_only", "validateOnly":
                if let checking { throw V1Fault(shape: member.key, "also given as \(checking.name)") }
                checking = (member.key, try Self.flag(member))
            default: throw V1Fault(shape: Excerpt.plain(member.key), "unknown field")
            }
        }
        guard let message, message != .null else { throw .noRecipient }
        guard var rest = message.object else { throw Self.mismatch("message", "an object", message) }
        (kind, recipient) = try Self.target(of: rest)
        rest.members.removeAll { member in Self.targets.contains { $0.rawValue == member.key } }
        self.message = JSONValue.object(rest).jsonBytes
        validateOnly = checking?.value ?? false
    }

    private static func object(_ body: [UInt8]) throws(V1Fault) -> JSONObject {
        // The message within may be as deep as that of any job.
        let limits = JSONLimits(maximumDepth: MessageChecker.maximumDepth + 1, maximumBytes: maximumBytes)
        let value: JSONValue
        do throws(JSONError) {
            value = try JSONParser.parse(ByteOrderMark.removed(from: body), limits: limits)
        } catch {
            let rule = "Invalid JSON payload received. \(error.reason) at byte \(error.offset)."
            throw V1Fault(shape: "", rule)
        }
        guard let object = value.object else { throw mismatch("", "an object", value) }
        return object
    }

    private static func flag(_ member: JSONObject.Member) throws(V1Fault) -> Bool {
        if member.value == .null { return false }
        guard let flag = member.value.bool else { throw mismatch(member.key, "true or false", member.value) }
        return flag
    }

    /// The members of FCM's oneof `target`, in the order of its reference.
    private static let targets: [RecipientKind] = [.token, .fid, .topic, .condition]

    private static func target(of message: JSONObject) throws(V1Fault) -> (RecipientKind, String) {
        let given = targets.filter { (message[$0.rawValue] ?? .null) != .null }
        guard let kind = given.first, let value = message[kind.rawValue] else { throw .noRecipient }
        let name = kind.rawValue
        if given.count > 1 {
            let other = given[1].rawValue
            let rule = "Invalid value at 'message' (oneof), oneof field 'target' is already set. Cannot set '\(other)'"
            throw V1Fault("message", rule, message: rule, isOfShape: true)
        }
        let path = "message.\(name)"
        if message.members.count(where: { $0.key == name }) > 1 { throw V1Fault(shape: path, "given more than once") }
        guard let text = value.string else { throw mismatch(path, "a string", value) }
        // Protobuf does not tell an empty string from an absent one.
        guard !text.isEmpty else { throw .noRecipient }
        switch kind {
        case .token, .fid, .group:
            if let rule = RecipientRules.tokenFault(text.utf8) { throw .badRecipient(path, rule) }
            return (kind, text)
        case .topic: return (kind, topicName(text))
        case .condition: return (kind, text)
        }
    }

    /// The bare name, as results spell it.
    private static func topicName(_ text: String) -> String {
        let prefix = "/topics/"
        return text.hasPrefix(prefix) ? String(text.dropFirst(prefix.count)) : text
    }

    private static func mismatch(_ path: String, _ expected: String, _ value: JSONValue) -> V1Fault {
        V1Fault(shape: path, "must be \(expected), not \(value.kindName)")
    }
}
