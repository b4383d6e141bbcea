import FCMWire
import FanfareJSON
import FanfareModel
import Testing

/// A JSON text as a value whose members are in a fixed order, so that only the content is compared.
func sorted(_ text: String) throws -> JSONValue {
    sorted(try JSONParser.parse(Array(text.utf8)))
}

func sorted(_ value: JSONValue) -> JSONValue {
    switch value {
    case .object(let object):
        let members = object.members.map { JSONObject.Member(key: $0.key, value: sorted($0.value)) }
        return .object(JSONObject(members.sorted { $0.key < $1.key }))
    case .array(let elements): return .array(elements.map { sorted($0) })
    default: return value
    }
}

/// A message rendered for the token `T` at second 1,000.
func rendered(
    _ message: String,
    _ format: MessageFormat,
    over transport: Transport,
    kind: RecipientKind = .token,
    recipient: String = "T",
    validateOnly: Bool = false,
    delivery: DeliveryMode = .atLeastOnce,
    nowMs: Int64 = 1_000_999
) throws -> String {
    let template = try RequestTemplate(
        SourceMessage(
            Array(message.utf8),
            format: format,
            validateOnly: validateOnly,
            delivery: delivery,
            jobID: "job-1"
        ),
        transport: transport
    )
    var body: [UInt8] = []
    template.render(kind: kind, recipient: recipient, nowMs: nowMs, into: &body)
    return String(decoding: body, as: UTF8.self)
}

extension TranslationError {
    /// - Parameter reason: as ``reason`` prints it.
    init(reason: String) {
        let path = reason.prefix { $0 != ":" }
        self.init(path: String(path), rule: String(reason.dropFirst(path.count + 2)))
    }
}
