import FanfareXML

@testable import FCMWire

/// A session, the events it gets, and their time.
struct XMPPStory {
    var session = XMPPSession(settings)
    var nowMs: Int64 = 0

    private static let settings = {
        var settings = XMPPSessionSettings(user: "u@h", password: "p")
        settings.window = 3
        return settings
    }()

    static let phases: [XMPPSession.Phase] = [.opening, .authenticating, .restarting, .binding, .ready, .draining]

    var phase: XMPPSession.Phase { session.phase }

    mutating func handle(_ event: XMPPSession.Event) -> [XMPPSession.Action] { session.handle(event, nowMs: nowMs) }

    mutating func written(_ event: XMPPSession.Event) -> [[UInt8]] {
        handle(event).compactMap { if case .write(let bytes) = $0 { bytes } else { nil } }
    }

    mutating func send(_ number: UInt64, to recipient: String = "") -> [XMPPSession.Action] {
        handle(.send(tag: number, messageID: "m\(number)", to: recipient, json: Array("{}".utf8)))
    }

    mutating func negotiate(until phase: XMPPSession.Phase, session wantsSession: Bool = false) {
        let steps: [XMPPSession.Event] = [
            .connected, Self.header, Self.mechanisms("PLAIN"), Self.success, Self.header,
            Self.offer(bind: true, session: wantsSession), Self.bound, Self.draining,
        ]
        for step in steps {
            // A header is part of the phase that waits for the features after it.
            if self.phase == phase, step != Self.header { return }
            _ = handle(step)
        }
    }

    // MARK: What the peer says

    static let header = XMPPSession.Event.arrived(
        .opened(XMLName("stream", in: XMPPNamespace.streams), attributes: ["from": "gcm.googleapis.com"])
    )
    static let success = element("success", XMPPNamespace.sasl)
    static let bound = XMPPSession.Event.arrived(
        .element(XMLElement(client("iq"), attributes: ["type": "result", "id": "bind-1"]))
    )

    static let draining = gcm(#"{"message_type":"control","control_type":"CONNECTION_DRAINING"}"#)

    static func client(_ name: String) -> XMLName { XMLName(name, in: XMPPNamespace.client) }

    static func element(_ name: String, _ namespace: String, _ children: [XMLElement] = []) -> XMPPSession.Event {
        .arrived(.element(XMLElement(XMLName(name, in: namespace), children: children.map { .element($0) })))
    }

    static func mechanisms(_ names: String...) -> XMPPSession.Event {
        let list = names.map { name in
            XMLNode.element(XMLElement(XMLName("mechanism", in: XMPPNamespace.sasl), children: [.text(name)]))
        }
        let mechanisms = XMLElement(XMLName("mechanisms", in: XMPPNamespace.sasl), children: list)
        return element("features", XMPPNamespace.streams, [mechanisms])
    }

    static func offer(bind: Bool, session: Bool) -> XMPPSession.Event {
        var offered: [XMLElement] = []
        if bind { offered.append(XMLElement(XMLName("bind", in: XMPPNamespace.bind))) }
        let optional = XMLElement(XMLName("optional", in: XMPPNamespace.session))
        offered.append(
            XMLElement(XMLName("session", in: XMPPNamespace.session), children: session ? [] : [.element(optional)])
        )
        return element("features", XMPPNamespace.streams, offered)
    }

    static func failure(_ condition: String) -> XMPPSession.Event {
        element("failure", XMPPNamespace.sasl, [XMLElement(XMLName(condition, in: XMPPNamespace.sasl))])
    }

    static func streamError(_ condition: String) -> XMPPSession.Event {
        let name = XMLName(condition, in: "urn:ietf:params:xml:ns:xmpp-streams")
        return element("error", XMPPNamespace.streams, [XMLElement(name)])
    }

    static func gcm(_ json: String, namespace: String = XMPPNamespace.gcm) -> XMPPSession.Event {
        element("message", XMPPNamespace.client, [XMLElement(XMLName("gcm", in: namespace), children: [.text(json)])])
    }

    static func ack(_ number: UInt64) -> XMPPSession.Event { gcm(ackText(number)) }

    static func ackText(_ number: UInt64) -> String { #"{"message_type":"ack","message_id":"m\#(number)"}"# }

    static func nack(_ number: UInt64, _ code: String) -> XMPPSession.Event {
        gcm(#"{"message_type":"nack","message_id":"m\#(number)","error":"\#(code)"}"#)
    }

    static func error(id: String, json: String? = nil, condition: String = "bad-request") -> XMPPSession.Event {
        let error = XMLElement(
            client("error"),
            children: [
                .element(XMLElement(XMLName(condition, in: XMPPNamespace.stanzas))),
                .element(XMLElement(XMLName("text", in: XMPPNamespace.stanzas), children: [.text("why")])),
            ]
        )
        var children = [XMLNode.element(error)]
        if let json {
            let gcm = XMLElement(XMLName("gcm", in: XMPPNamespace.gcm), children: [.text(json)])
            children.append(.element(gcm))
        }
        let attributes = ["type": "error", "id": id]
        return .arrived(.element(XMLElement(client("message"), attributes: attributes, children: children)))
    }
}
