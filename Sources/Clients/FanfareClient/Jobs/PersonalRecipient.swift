internal import FanfareJSON
public import FanfareModel

/// A recipient of a personal job, with the values for the placeholders of its message.
public struct PersonalRecipient: Equatable, Sendable {
    /// A value for `{{name}}`: numbers and booleans are written as their JSON text.
    public enum Value: Equatable, Sendable {
        /// At most 1,024 bytes.
        case text(String)
        case integer(Int64)
        case boolean(Bool)
    }

    /// `token` or `fid`.
    public let kind: RecipientKind
    /// The registration token or installation id.
    public let name: String
    /// At most 32; a name is `[A-Za-z_][A-Za-z0-9_]{0,31}`.
    public var variables: [(name: String, value: Value)]
    /// The name of the variant; nil for the base message.
    public var variant: String?

    public init(token: String, _ variables: KeyValuePairs<String, Value> = [:], variant: String? = nil) {
        self.init(.token, token, variables, variant)
    }

    public init(fid: String, _ variables: KeyValuePairs<String, Value> = [:], variant: String? = nil) {
        self.init(.fid, fid, variables, variant)
    }

    private init(
        _ kind: RecipientKind,
        _ name: String,
        _ variables: KeyValuePairs<String, Value>,
        _ variant: String?
    ) {
        self.kind = kind
        self.name = name
        self.variables = variables.map { (name: $0.key, value: $0.value) }
        self.variant = variant
    }

    public static func == (one: PersonalRecipient, other: PersonalRecipient) -> Bool { one.json == other.json }

    /// The recipient as one line of JSON, as an element of an audience has it.
    public var json: String {
        var object: JSONObject = [kind.rawValue: .string(name)]
        if !variables.isEmpty {
            let members = variables.map { JSONObject.Member(key: $0.name, value: $0.value.json) }
            object["vars"] = .object(JSONObject(members))
        }
        if let variant { object["variant"] = .string(variant) }
        return String(decoding: JSONValue.object(object).jsonBytes, as: UTF8.self)
    }
}

extension PersonalRecipient.Value: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral
{
    public init(stringLiteral text: String) { self = .text(text) }
    public init(integerLiteral number: Int64) { self = .integer(number) }
    public init(booleanLiteral flag: Bool) { self = .boolean(flag) }

    fileprivate var json: JSONValue {
        switch self {
        case .text(let text): .string(text)
        case .integer(let number): .number(JSONNumber(number))
        case .boolean(let flag): .bool(flag)
        }
    }
}

extension Target {
    /// The recipients of a personal job.
    public static func recipients(_ recipients: some Sequence<PersonalRecipient>) -> Target {
        .recipients(RecipientList(recipients.map(\.json)))
    }
}

extension PushJob {
    /// Sets the variants of a personal job.
    ///
    /// - Parameter variants: partial messages by name, at most 100. Each is merged over ``message`` for its recipients.
    public mutating func setVariants(_ variants: KeyValuePairs<String, Message>) {
        var json: [UInt8] = []
        for (name, message) in variants {
            json.append(UInt8(ascii: json.isEmpty ? "{" : ","))
            json.appendJSONString(name)
            json.append(UInt8(ascii: ":"))
            json.append(contentsOf: message.jsonBytes)
        }
        self.variants = json.isEmpty ? nil : json + [UInt8(ascii: "}")]
    }
}
