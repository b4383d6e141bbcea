internal import FanfareJSON
internal import FanfareModel
internal import FanfareXML

/// Meaning of one element from FCM, by namespace and local name.
enum XMPPArrival: Equatable {
    case features(XMPPFeatures)
    case authenticated
    case refused(condition: String)
    case iq(type: String, id: String, condition: String)
    /// To a message of ours: an ack, or a nack with its code. `json` is the whole answer. `messageID` is nil where the
    /// answer has none; then `from`, which may be empty, is all that names the message.
    case answer(messageID: String?, from: String, nack: String?, json: [UInt8])
    case incoming(XMPPIncoming)
    case control(type: String)
    case rejection(XMPPRejection)
    case streamError(String)
    /// Not of the protocol, or not attributable. The reason is for people and bounded.
    case unexpected(String)
}

/// Features that a server offers at the start of a stream.
struct XMPPFeatures: Equatable {
    var mechanisms: [String] = []
    var offersBind = false
    /// RFC 3921's session is offered and not marked optional; RFC 6121 removed it.
    var wantsSession = false
}

/// A stanza came back as an error. FCM does so when it cannot read the JSON far enough to nack it by its id.
struct XMPPRejection: Equatable {
    var stanzaID: String
    /// From the JSON that came back with it; nil when none did.
    var messageID: String?
    /// The code of a nack that means the same.
    var code: String
    /// The name of the error's condition: what may be logged of it.
    var condition: String
    /// FCM's words, which may quote a token: for the nack alone, never for a log.
    var text: String
}

extension XMPPArrival {
    private static let jsonLimits = JSONLimits(maximumDepth: 32, maximumBytes: 65_536)

    init(_ element: XMLElement) {
        switch (element.name.namespace, element.name.local) {
        case (XMPPNamespace.client, "message"): self = Self.message(element)
        case (XMPPNamespace.client, "iq"):
            let condition = element.child("error", in: XMPPNamespace.client)?.condition ?? ""
            self = .iq(
                type: element.attributes["type"] ?? "",
                id: element.attributes["id"] ?? "",
                condition: condition
            )
        case (XMPPNamespace.streams, "features"): self = .features(XMPPFeatures(element))
        case (XMPPNamespace.streams, "error"): self = .streamError(element.condition)
        case (XMPPNamespace.sasl, "success"): self = .authenticated
        case (XMPPNamespace.sasl, "failure"): self = .refused(condition: element.condition)
        default:
            self = .unexpected("the element \(RawError.clean("{\(element.name.namespace)}\(element.name.local)"))")
        }
    }

    private static func message(_ element: XMLElement) -> XMPPArrival {
        let gcm = element.child("gcm", in: XMPPNamespace.gcm)
        if element.attributes["type"] == "error" {
            return .rejection(XMPPRejection(element, json: gcm.flatMap { object(Array($0.text.utf8)) }))
        }
        guard let gcm else { return .unexpected("a message without a gcm element") }
        let json = Array(gcm.text.utf8)
        guard let object = object(json) else { return .unexpected("a message that is not a JSON object") }
        guard let type = object["message_type"] else { return incoming(object, isReceipt: false) }
        let (id, from) = (object["message_id"]?.string, object["from"]?.string ?? "")
        switch type.string {
        case "ack": return .answer(messageID: id, from: from, nack: nil, json: json)
        case "nack": return .answer(messageID: id, from: from, nack: object["error"]?.string ?? "", json: json)
        case "receipt": return incoming(object, isReceipt: true)
        case "control": return .control(type: RawError.clean(object["control_type"]?.string ?? ""))
        default: return .unexpected("the message_type \(RawError.clean(type.jsonText))")
        }
    }

    private static func incoming(_ object: JSONObject, isReceipt: Bool) -> XMPPArrival {
        guard let incoming = XMPPIncoming(object, isReceipt: isReceipt) else {
            return .unexpected("an upstream message without a sender or an id")
        }
        return .incoming(incoming)
    }

    static func object(_ json: [UInt8]) -> JSONObject? {
        (try? JSONParser.parse(json, limits: jsonLimits))?.object
    }
}

extension XMPPFeatures {
    fileprivate init(_ element: XMLElement) {
        let offered = element.child("mechanisms", in: XMPPNamespace.sasl)?.elements ?? []
        mechanisms = offered.filter { $0.name == XMLName("mechanism", in: XMPPNamespace.sasl) }.map(\.text)
        offersBind = element.child("bind", in: XMPPNamespace.bind) != nil
        let session = element.child("session", in: XMPPNamespace.session)
        wantsSession = session.map { $0.child("optional", in: XMPPNamespace.session) == nil } ?? false
    }
}

extension XMPPRejection {
    fileprivate init(_ message: XMLElement, json: JSONObject?) {
        let error = message.child("error", in: XMPPNamespace.client)
        let condition = error?.condition ?? ""
        let said = error?.elements.first { $0.name.local == "text" }?.text ?? ""
        stanzaID = message.attributes["id"] ?? ""
        messageID = json?["message_id"]?.string
        self.condition = condition.isEmpty ? "no condition" : condition
        text = RawError.clean(said.isEmpty ? condition : said)
        code =
            switch condition {
            case "bad-request", "": "INVALID_JSON"
            case "internal-server-error": "INTERNAL_SERVER_ERROR"
            case "service-unavailable", "resource-constraint", "remote-server-timeout": "SERVICE_UNAVAILABLE"
            default: condition
            }
    }

    /// The nack that FCM would have sent.
    func nack(for messageID: String) -> [UInt8] {
        JSONValue.object([
            "message_type": "nack", "message_id": .string(messageID), "error": .string(code),
            "error_description": .string(text),
        ]).jsonBytes
    }
}

extension XMLElement {
    /// The name of the condition that an error element holds; empty without one.
    fileprivate var condition: String {
        RawError.clean(elements.first { $0.name.local != "text" }?.name.local ?? "")
    }
}
