import FCMWire
import FanfareJSON
import FanfareModel
import FanfareTemplate
import Testing

/// A transport with the form of its bodies.
struct Wire: Sendable, CustomTestStringConvertible {
    let transport: Transport
    let body: LegacyBody

    static let all = [Wire(.v1), Wire(.legacy), Wire(.legacy, .text), Wire(.xmpp)]

    init(_ transport: Transport, _ body: LegacyBody = .json) { (self.transport, self.body) = (transport, body) }

    var testDescription: String { "\(transport) \(body)" }

    /// The request that the templates of ordinary jobs write; the message has no placeholders.
    func ordinary(
        _ message: JSONObject,
        _ options: MessageOptions,
        kind: RecipientKind = .token,
        nowMs: Int64
    ) throws -> [UInt8] {
        let source = try SourceMessage(
            JSONValue.object(message).jsonBytes,
            format: options.format,
            validateOnly: options.validateOnly,
            delivery: options.delivery,
            jobID: options.jobID
        )
        var bytes: [UInt8] = []
        switch (transport, body) {
        case (.xmpp, _): try XMPPTemplate(source).render(kind: kind, recipient: "T:1", messageID: "m/1", into: &bytes)
        case (.legacy, .text): try PlainTextTemplate(source).render(token: "T:1", into: &bytes)
        default:
            let template = try RequestTemplate(source, transport: transport)
            template.render(kind: kind, recipient: "T:1", nowMs: nowMs, into: &bytes)
        }
        return bytes
    }
}

/// Plain replacement in the message before anything else is done with it.
struct FilledMessage {
    private(set) var message: JSONObject
    /// Whether a placeholder has neither a value nor a fallback.
    private(set) var isMissing = false

    private let values: [String: String]
    private let format: MessageFormat
    private let missing: String

    /// - Parameter missing: what stands for a missing value.
    init(_ message: JSONObject, _ values: [String: String], _ format: MessageFormat, missing: String = "") {
        (self.values, self.format, self.missing) = (values, format, missing)
        self.message = message
        self.message = fill(.object(message), path: []).object ?? [:]
    }

    private mutating func fill(_ value: JSONValue, path: [String]) -> JSONValue {
        switch value {
        case .string(let text):
            // The value stands within a string of the JSON that the text is.
            let isJSON = format == .legacy && path.first == "notification" && path.last?.hasSuffix("_args") == true
            return .string(fill(text) { isJSON ? Self.escaped($0) : $0 })
        case .array(let elements): return .array(elements.map { fill($0, path: []) })
        case .object(let object):
            let members = object.members.map { member in
                JSONObject.Member(key: member.key, value: fill(member.value, path: path + [member.key]))
            }
            return .object(JSONObject(members))
        default: return value
        }
    }

    private static func escaped(_ text: String) -> String {
        // Bytes: a combining character is one character with the quote before it.
        String(decoding: JSONValue.string(text).jsonBytes.dropFirst().dropLast(), as: UTF8.self)
    }

    private mutating func fill(_ text: String, _ spelled: (String) -> String) -> String {
        let filled = (try? PlaceholderText(text))?.filled { name, fallback in
            if let value = values[name.text] { return spelled(value) }
            if fallback == nil { isMissing = true }
            return fallback ?? missing
        }
        return filled ?? text
    }
}

extension RecipientElement {
    static func of(
        _ values: [String: String],
        token: String = "T:1",
        variant: String? = nil,
        kind: RecipientKind = .token
    ) throws -> RecipientElement {
        let members = values.sorted { $0.key < $1.key }.map { JSONObject.Member(key: $0.key, value: .string($0.value)) }
        var object: JSONObject = [kind.rawValue: .string(token), "vars": .object(JSONObject(members))]
        if let variant { object["variant"] = .string(variant) }
        let bytes = JSONValue.object(object).jsonBytes
        return try RecipientElement(bytes.indices, of: bytes)
    }
}

extension PersonalTemplate {
    /// A job without variants.
    init(_ message: JSONObject, _ options: MessageOptions, _ wire: Wire) throws {
        let messages = VariantTable<JSONObject>(base: message, variants: [])
        self = try PersonalTemplate(messages, options, transport: wire.transport, legacyBody: wire.body)
    }

    func rendered(_ recipient: RecipientElement, nowMs: Int64 = 1_000_999) throws -> [UInt8] {
        var bytes = Array("head".utf8)
        try render(recipient, messageID: "m/1", nowMs: nowMs, into: &bytes)
        #expect(bytes.starts(with: Array("head".utf8)))
        return Array(bytes.dropFirst(4))
    }
}

extension MessageOptions {
    static func job(
        _ format: MessageFormat,
        validateOnly: Bool = false,
        delivery: DeliveryMode = .atLeastOnce
    ) -> MessageOptions {
        MessageOptions(format: format, validateOnly: validateOnly, delivery: delivery, jobID: "job-1")
    }
}
