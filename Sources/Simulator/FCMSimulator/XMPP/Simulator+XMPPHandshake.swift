import FanfareXML

/// Everything before the first message: two streams, authentication between them, and a name for the connection.
extension Simulator {
    mutating func openStream(
        _ name: XMLName,
        _ attributes: [String: String],
        on connection: XMPPConnection,
        now: Int64
    ) {
        let id = connection.id
        guard connection.stage == .opening || connection.stage == .reopening else {
            return endStream(id, "bad-format", "a second stream")
        }
        guard name == XMLName("stream", in: XMPPNames.stream) else {
            return endStream(id, "invalid-namespace", "expected a stream of \(XMPPNames.stream)")
        }
        guard let to = attributes["to"], XMPPNames.domains.contains(to) else {
            return endStream(id, "host-unknown", "the stream is not for \(XMPPNames.domains[0])")
        }
        guard attributes["version"]?.hasPrefix("1.") == true else {
            return endStream(id, "unsupported-version", "expected version 1.0")
        }
        xmpp.connections[id]?.domain = to
        let isFirst = connection.stage == .opening
        xmpp.connections[id]?.stage = isFirst ? .authenticating : .binding
        let offer = isFirst ? XMPPText.mechanisms : XMPPText.features
        xmpp.write(XMPPText.header(id: streamID(), domain: to) + offer, on: id)
    }

    mutating func negotiate(_ element: XMLElement, on connection: XMPPConnection, now: Int64) {
        switch connection.stage {
        case .authenticating: authenticate(element, on: connection, now: now)
        case .binding: bind(element, on: connection)
        case .opening, .reopening, .bound: endStream(connection.id, "not-authorized", "before the stream")
        }
    }

    private mutating func authenticate(_ element: XMLElement, on connection: XMPPConnection, now: Int64) {
        let id = connection.id
        guard element.name.namespace == XMPPNames.sasl else {
            return endStream(id, "not-authorized", "expected authentication")
        }
        guard element.name.local == "auth" else { return refuse(id, "aborted") }
        guard element.attributes["mechanism"] == "PLAIN" else {
            // Offered as the live service does, but nobody has such a credential here.
            let isOffered = ["X-OAUTH2", "X-GOOGLE-TOKEN"].contains(element.attributes["mechanism"])
            return refuse(id, isOffered ? "not-authorized" : "invalid-mechanism")
        }
        guard let bytes = Base64.decoded(element.text) else { return refuse(id, "incorrect-encoding") }
        let parts = bytes.split(separator: 0, maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, let project = projectsByKey[String(decoding: parts[2], as: UTF8.self)],
            XMPPNames.domains.contains(where: { parts[1].elementsEqual("\(project.senderID)@\($0)".utf8) })
        else { return refuse(id, "not-authorized") }
        guard xmpp.admit(project: project.id, now: now) else {
            return endStream(id, "resource-constraint", "too many connections of this project")
        }
        xmpp.statistics.accepted += 1
        xmpp.connections[id]?.project = project
        xmpp.connections[id]?.stage = .reopening
        xmpp.write(XMPPText.success, on: id)
        xmpp.outbox.append(XMPPOutput(connection: id, action: .restart))
    }

    private mutating func refuse(_ id: UInt64, _ condition: String) {
        xmpp.end(id, saying: XMPPText.failure(condition) + XMPPText.end)
    }

    private mutating func bind(_ element: XMLElement, on connection: XMPPConnection) {
        let id = connection.id
        guard element.name == XMLName("iq", in: XMPPNames.client), element.attributes["type"] == "set",
            let wish = element.child("bind", in: XMPPNames.bind), let sender = connection.project?.senderID
        else { return endStream(id, "not-authorized", "expected a resource to be bound") }
        let wanted = wish.child("resource", in: XMPPNames.bind)?.text ?? ""
        let isFit = (1...64).contains(wanted.utf8.count) && wanted.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
        let jid = "\(sender)@\(connection.domain)/" + (isFit ? wanted : streamID())
        xmpp.connections[id]?.jid = jid
        xmpp.connections[id]?.stage = .bound
        let request = element.attributes["id"] ?? ""
        xmpp.write(XMPPText.result(id: request, to: jid, XMPPText.bound(jid)), on: id)
    }
}

/// RFC 4648, section 4, with padding and nothing around it.
enum Base64 {
    static func decoded(_ text: String) -> [UInt8]? {
        let letters = Array(text.utf8)
        guard letters.count % 4 == 0 else { return nil }
        let padding = letters.reversed().prefix { $0 == UInt8(ascii: "=") }.count
        guard padding <= 2 else { return nil }
        var result: [UInt8] = []
        var bits: UInt32 = 0
        for (index, letter) in letters.dropLast(padding).enumerated() {
            guard let value = value(letter) else { return nil }
            bits = bits << 6 | value
            // Every letter but the first of four completes a byte.
            if index % 4 != 0 { result.append(UInt8(truncatingIfNeeded: bits >> (6 - 2 * UInt32(index % 4)))) }
        }
        return result
    }

    private static func value(_ letter: UInt8) -> UInt32? {
        switch letter {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): return UInt32(letter) - 65
        case UInt8(ascii: "a")...UInt8(ascii: "z"): return UInt32(letter) - 71
        case UInt8(ascii: "0")...UInt8(ascii: "9"): return UInt32(letter) + 4
        case UInt8(ascii: "+"): return 62
        case UInt8(ascii: "/"): return 63
        default: return nil
        }
    }
}
