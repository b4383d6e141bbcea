import FanfareJSON

/// One message of an app server.
enum XMPPRequest: Equatable, Sendable {
    case downstream(XMPPSend)
    case ack(to: String, messageID: String)
    /// Malformed, but with a message id: the answer is a nack.
    case refused(XMPPNack)
    /// Without a message id: the answer is a stanza error with this text.
    case unreadable(String)
}

struct XMPPSend: Equatable, Sendable {
    var messageID: String
    /// `to` as the sender wrote it, or the condition's text.
    var to: String
    var wantsReceipt: Bool
    var send: LegacySend
    /// Its answer has no `message_id`: FCM's documentation prints the ack of a group's partial success so.
    var hidesID = false
}

struct XMPPNack: Error, Equatable, Sendable {
    var messageID: String
    /// The recipient of the refused message or ack, if it names one.
    var from: String?
    var error: String
    var text: String
    /// Further members of the answer's JSON.
    var more = JSONObject()
    var hidesID = false

    var json: JSONObject {
        var object = JSONObject()
        if let from { object["from"] = .string(from) }
        if !hidesID { object["message_id"] = .string(messageID) }
        object["message_type"] = "nack"
        object["error"] = .string(error)
        object["error_description"] = .string(text)
        object.members += more.members
        return object
    }
}

enum XMPPReader {
    private static let limits = JSONLimits(maximumDepth: 32, maximumBytes: 65_536)
    /// Fields of HTTP that XMPP does not have.
    private static let httpOnly = ["registration_ids", "restricted_package_name"]

    static func read(_ json: [UInt8]) -> XMPPRequest {
        let object: JSONObject
        do throws(JSONError) {
            guard case .object(let root) = try JSONParser.parse(json, limits: limits) else {
                return .unreadable("InvalidJson: JSON_PARSING_ERROR : Expected an object at position 0.")
            }
            object = root
        } catch {
            return .unreadable("InvalidJson: JSON_PARSING_ERROR : \(error.reason) at position \(error.offset).")
        }
        guard let given = object["message_id"] else {
            return .unreadable("InvalidJson: JSON_PARSING_ERROR : Missing Required Field: message_id")
        }
        guard let id = given.string else {
            let text = "InvalidJson: JSON_TYPE_ERROR : Field \"message_id\" must be a JSON java.lang.String: "
            return .unreadable(text + String(given.jsonText.prefix(100)))
        }
        if let type = object["message_type"] { return ack(object, type: type, id: id) }
        do throws(XMPPNack) {
            return .downstream(try downstream(object, id: id, json: json))
        } catch {
            return .refused(error)
        }
    }

    /// A message with a type has to be an ack: app servers send no nacks.
    private static func ack(_ object: JSONObject, type: JSONValue, id: String) -> XMPPRequest {
        let to = object["to"]?.string
        let known: Set<ExactText> = ["to", "message_id", "message_type"]
        guard type == "ack", let to, !to.isEmpty, !id.isEmpty, object.members.allSatisfy({ known.contains($0.key) })
        else {
            let text = "The ack needs to, message_id and message_type ack, and nothing else"
            return .refused(XMPPNack(messageID: id, from: to, error: "BAD_ACK", text: text))
        }
        return .ack(to: to, messageID: id)
    }

    private static func downstream(_ object: JSONObject, id: String, json: [UInt8]) throws(XMPPNack) -> XMPPSend {
        let to = object["to"]?.string ?? object["condition"]?.string
        func invalid(_ text: String) -> XMPPNack {
            XMPPNack(messageID: id, from: to, error: "INVALID_JSON", text: "InvalidJson: " + text)
        }
        guard !id.isEmpty else { throw invalid("JSON_PARSING_ERROR : Empty Required Field: message_id") }
        if let name = httpOnly.first(where: { object[$0] != nil }) {
            throw invalid("JSON_PARSING_ERROR : Unknown Field: \(name)")
        }
        let wish = object["delivery_receipt_requested"]
        guard wish == nil || wish?.bool != nil else {
            throw invalid("JSON_TYPE_ERROR : Field \"delivery_receipt_requested\" must be a JSON java.lang.Boolean")
        }
        var message = object
        message["message_id"] = nil
        message["delivery_receipt_requested"] = nil
        do throws(LegacyRequestError) {
            let send = try LegacyRequest.read(message, body: json)
            return XMPPSend(messageID: id, to: to ?? "", wantsReceipt: wish == true, send: send)
        } catch {
            switch error {
            case .sentence(let sentence): throw invalid("JSON_TYPE_ERROR : " + sentence)
            case .code(_, _, _, let sentence): throw invalid(sentence)
            }
        }
    }
}

extension DeviceFailure {
    /// The XMPP code for the same refusal.
    var nackCode: String {
        switch self {
        case .unregistered, .appleUnregistered, .appleDisabled: return "DEVICE_UNREGISTERED"
        case .invalid: return "BAD_REGISTRATION"
        case .mismatch: return "SENDER_ID_MISMATCH"
        case .auth: return "INVALID_APNS_CREDENTIAL"
        case .retryable(.unavailable): return "SERVICE_UNAVAILABLE"
        case .retryable(.internalError): return "INTERNAL_SERVER_ERROR"
        case .retryable(.quota), .retryable(.deviceRate), .tooOften: return "DEVICE_MESSAGE_RATE_EXCEEDED"
        case .package, .urgentAppleData: return "INVALID_JSON"
        }
    }

    static func nackText(_ code: String, to: String) -> String {
        switch code {
        case "DEVICE_UNREGISTERED": return "The registration is not registered any more"
        case "BAD_REGISTRATION": return "Invalid token on 'to' field: " + to
        case "SENDER_ID_MISMATCH": return "The registration belongs to other senders"
        case "INVALID_APNS_CREDENTIAL": return "The project's APNs credential is missing or has expired"
        case "SERVICE_UNAVAILABLE": return "The service is currently unavailable"
        case "INTERNAL_SERVER_ERROR": return "Internal error encountered"
        case "DEVICE_MESSAGE_RATE_EXCEEDED": return "Downstream message rate exceeded for this registration id"
        case "TOPICS_MESSAGE_RATE_EXCEEDED": return "Downstream message rate exceeded for this topic"
        case "CONNECTION_DRAINING": return "The connection is draining"
        default: return code
        }
    }
}
