internal import FanfareJSON
internal import FanfareModel
internal import FanfareXML

/// Bytes of the stanzas that are written to FCM.
enum XMPPStanza {
    static let domain = "gcm.googleapis.com"
    static let bindID = "bind-1"
    static let sessionID = "session-1"
    static let footer = Array("</stream:stream>".utf8)
    /// A blank between stanzas means nothing and keeps the connection alive.
    static let keepalive: [UInt8] = [0x20]

    static func header() -> [UInt8] {
        Array(
            """
            <?xml version='1.0'?><stream:stream to="\(domain)" version="1.0" xmlns="\(XMPPNamespace.client)" \
            xmlns:stream="\(XMPPNamespace.streams)">
            """.utf8
        )
    }

    /// SASL PLAIN without a separate identity to act as.
    static func auth(user: String, password: String) -> [UInt8] {
        let secret = Base64.encode([0] + Array(user.utf8) + [0] + Array(password.utf8))
        return Array(#"<auth mechanism="PLAIN" xmlns="\#(XMPPNamespace.sasl)">"#.utf8) + secret
            + Array("</auth>".utf8)
    }

    static func bind() -> [UInt8] {
        Array(#"<iq type="set" id="\#(bindID)"><bind xmlns="\#(XMPPNamespace.bind)"/></iq>"#.utf8)
    }

    static func session() -> [UInt8] {
        Array(#"<iq type="set" id="\#(sessionID)"><session xmlns="\#(XMPPNamespace.session)"/></iq>"#.utf8)
    }

    /// - Parameters:
    ///   - id: comes back on an error that names no message.
    ///   - json: any JSON; escaped here.
    static func message(id: String, json: some Collection<UInt8>) -> [UInt8] {
        var bytes: [UInt8] = []
        // Half of a message may be quotes, which become six bytes each.
        bytes.reserveCapacity(json.count * 2 + 128)
        bytes += Array(#"<message id=""#.utf8)
        XMLText.append(id.utf8, to: &bytes)
        bytes += Array(#""><gcm xmlns="\#(XMPPNamespace.gcm)">"#.utf8)
        appendText(json, to: &bytes)
        bytes += Array("</gcm></message>".utf8)
        return bytes
    }

    /// The acknowledgement of a message from FCM. FCM may answer it with an error. Ids of messages have no plus sign,
    /// so the id identifies an acknowledgement.
    static func ack(to: String, messageID: String) -> [UInt8] {
        let object: JSONValue = .object([
            "to": .string(to), "message_id": .string(messageID), "message_type": .string("ack"),
        ])
        return message(id: ackPrefix + messageID, json: object.jsonBytes)
    }

    static let ackPrefix = "+"

    /// The answer to a request that is not served here, which RFC 6120 demands.
    static func notServed(id: String) -> [UInt8] {
        Array(
            """
            <iq type="error" id="\(XMLText.escaped(id))"><error type="cancel">\
            <service-unavailable xmlns="\(XMPPNamespace.stanzas)"/></error></iq>
            """.utf8
        )
    }

    /// Appends JSON with U+FFFE and U+FFFF as JSON escapes: XML does not allow them, and JSON has them in strings only.
    private static func appendText(_ json: some Collection<UInt8>, to bytes: inout [UInt8]) {
        var rest = json[...]
        while let at = rest.firstIndex(of: 0xEF) {
            XMLText.append(rest[..<at], to: &bytes)
            let three = Array(rest[at...].prefix(3))
            if three == [0xEF, 0xBF, 0xBE] || three == [0xEF, 0xBF, 0xBF] {
                bytes += Array((three[2] == 0xBE ? #"\ufffe"# : #"\uffff"#).utf8)
                rest = rest[at...].dropFirst(3)
            } else {
                bytes.append(0xEF)
                rest = rest[at...].dropFirst()
            }
        }
        XMLText.append(rest, to: &bytes)
    }
}
