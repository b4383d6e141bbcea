import FanfareXML

/// The namespaces and addresses of XMPP.
enum XMPPNames {
    static let stream = "http://etherx.jabber.org/streams"
    static let client = "jabber:client"
    static let sasl = "urn:ietf:params:xml:ns:xmpp-sasl"
    static let bind = "urn:ietf:params:xml:ns:xmpp-bind"
    static let session = "urn:ietf:params:xml:ns:xmpp-session"
    static let stanzas = "urn:ietf:params:xml:ns:xmpp-stanzas"
    static let streamErrors = "urn:ietf:params:xml:ns:xmpp-streams"
    static let data = "google:mobile:data"
    /// The domain's old and newer name.
    static let domains = ["gcm.googleapis.com", "fcm.googleapis.com"]
    static let devices = "devices@gcm.googleapis.com"
}

/// Writes the server's stanzas.
enum XMPPText {
    static func header(id: String, domain: String) -> String {
        "<stream:stream from=\"\(domain)\" id=\"\(id)\" version=\"1.0\" xmlns=\"\(XMPPNames.client)\" "
            + "xmlns:stream=\"\(XMPPNames.stream)\">"
    }

    static let end = "</stream:stream>"

    static let mechanisms =
        "<stream:features><mechanisms xmlns=\"\(XMPPNames.sasl)\"><mechanism>X-OAUTH2</mechanism>"
        + "<mechanism>X-GOOGLE-TOKEN</mechanism><mechanism>PLAIN</mechanism></mechanisms></stream:features>"

    static let features =
        "<stream:features><bind xmlns=\"\(XMPPNames.bind)\"/><session xmlns=\"\(XMPPNames.session)\"/></stream:features>"

    static let success = "<success xmlns=\"\(XMPPNames.sasl)\"/>"

    static func failure(_ condition: String) -> String {
        "<failure xmlns=\"\(XMPPNames.sasl)\"><\(condition)/></failure>"
    }

    /// - Parameter condition: one of RFC 6120, section 4.9.3.
    static func streamError(_ condition: String, _ text: String) -> String {
        "<stream:error><\(condition) xmlns=\"\(XMPPNames.streamErrors)\"/>"
            + "<text xmlns=\"\(XMPPNames.streamErrors)\">\(XMLText.escaped(text))</text></stream:error>"
    }

    static func result(id: String, to jid: String, _ inside: String = "") -> String {
        "<iq type=\"result\" id=\"\(XMLText.escaped(id))\" to=\"\(XMLText.escaped(jid))\">\(inside)</iq>"
    }

    static func bound(_ jid: String) -> String {
        "<bind xmlns=\"\(XMPPNames.bind)\"><jid>\(XMLText.escaped(jid))</jid></bind>"
    }

    static func iqError(id: String, _ condition: String) -> String {
        "<iq type=\"error\" id=\"\(XMLText.escaped(id))\"><error type=\"cancel\"><\(condition) "
            + "xmlns=\"\(XMPPNames.stanzas)\"/></error></iq>"
    }

    /// A message from FCM: an ack, a nack, a receipt, or a device's message.
    static func message(_ json: [UInt8], to jid: String) -> [UInt8] {
        var bytes = Array(
            "<message id=\"\" from=\"\(XMPPNames.devices)\" to=\"\(XMLText.escaped(jid))\" type=\"normal\">".utf8
        )
        bytes += "<gcm xmlns=\"\(XMPPNames.data)\">".utf8
        XMLText.append(json, to: &bytes)
        bytes += "</gcm></message>".utf8
        return bytes
    }

    /// The answer to JSON without a message id, which a nack could not name.
    static func messageError(id: String, json: [UInt8], _ text: String) -> [UInt8] {
        var bytes = Array("<message id=\"\(XMLText.escaped(id))\" type=\"error\">".utf8)
        bytes += "<gcm xmlns=\"\(XMPPNames.data)\">".utf8
        XMLText.append(json, to: &bytes)
        bytes += "</gcm><error code=\"400\" type=\"modify\"><bad-request xmlns=\"\(XMPPNames.stanzas)\"/>".utf8
        bytes += "<text xmlns=\"\(XMPPNames.stanzas)\">\(XMLText.escaped(text))</text></error></message>".utf8
        return bytes
    }
}
