import FCMSimulator
import FanfareXML
import Testing

@Suite struct XMPPHandshakeTests {
    static let user = Trial.project.senderID + "@gcm.googleapis.com"

    @Test func `a handshake opens two streams, authenticates and binds`() throws {
        var trial = XMPPTrial()
        let id = try trial.open()
        trial.header(on: id)
        let first = trial.text(on: id)
        #expect(first.hasPrefix("<stream:stream "))
        for mechanism in ["X-OAUTH2", "X-GOOGLE-TOKEN", "PLAIN"] {
            #expect(first.contains("<mechanism>\(mechanism)</mechanism>"))
        }
        trial.auth(XMPPTrial.plain(Self.user, Trial.project.serverKey), on: id)
        #expect(trial.text(on: id) == "<success xmlns=\"urn:ietf:params:xml:ns:xmpp-sasl\"/>")
        trial.header(on: id)
        let second = trial.text(on: id)
        #expect(second.contains("<bind xmlns=\"urn:ietf:params:xml:ns:xmpp-bind\"/>"))
        #expect(second.contains("<session xmlns=\"urn:ietf:params:xml:ns:xmpp-session\"/>"))
        trial.bind(on: id, resource: "here")
        #expect(trial.text(on: id).contains("<jid>\(Self.user)/here</jid>"))
        trial.query(XMLElement(XMLName("session", in: "urn:ietf:params:xml:ns:xmpp-session")), on: id)
        #expect(trial.text(on: id).contains("type=\"result\" id=\"q1\""))
        trial.query(XMLElement(XMLName("query", in: "jabber:iq:roster")), type: "get", on: id)
        #expect(trial.text(on: id).contains("<service-unavailable "))
        #expect(try trial.statistic("open") == 1)
        trial.receive(.closed, on: id)
        #expect(trial.text(on: id) == "</stream:stream>")
        #expect(trial.closed == [id])
        #expect(try trial.statistic("open") == 0)
    }

    @Test(arguments: [
        (XMPPTrial.plain(user, "wrong"), "PLAIN", "not-authorized"),
        (XMPPTrial.plain(user, Trial.other.serverKey), "PLAIN", "not-authorized"),
        (XMPPTrial.plain(Trial.project.senderID, Trial.project.serverKey), "PLAIN", "not-authorized"),
        (XMPPTrial.plain("1@gcm.googleapis.com", Trial.project.serverKey), "PLAIN", "not-authorized"),
        ("", "PLAIN", "not-authorized"), ("!!!!", "PLAIN", "incorrect-encoding"),
        ("abc", "PLAIN", "incorrect-encoding"),
        ("====", "PLAIN", "incorrect-encoding"), ("", "X-OAUTH2", "not-authorized"),
        ("", "SCRAM-SHA-1", "invalid-mechanism"),
    ])
    func `a wrong credential is refused and the connection closed`(text: String, mechanism: String, word: String) throws
    {
        var trial = XMPPTrial()
        let id = try trial.open()
        trial.header(on: id)
        _ = trial.text(on: id)
        trial.auth(text, mechanism: mechanism, on: id)
        #expect(
            trial.text(on: id)
                == "<failure xmlns=\"urn:ietf:params:xml:ns:xmpp-sasl\"><\(word)/></failure></stream:stream>"
        )
        #expect(trial.closed == [id])
        trial.header(on: id)
        #expect(trial.text(on: id).isEmpty)
    }

    @Test func `an unexpected stanza ends the stream with an error`() throws {
        let stray = XMLElement(XMLName("stray", in: XMPPTrial.client))
        let table: [(steps: (inout XMPPTrial, UInt64) -> Void, word: String)] = [
            ({ $0.header(on: $1, to: "example.org") }, "host-unknown"),
            ({ $0.header(on: $1, version: "0.9") }, "unsupported-version"),
            ({ $0.receive(.opened(XMLName("stream", in: "x"), attributes: [:]), on: $1) }, "invalid-namespace"),
            ({ $0.receive(.element(stray), on: $1) }, "not-authorized"),
            (
                {
                    $0.header(on: $1)
                    $0.message(#"{"to":"a","message_id":"1"}"#, on: $1)
                }, "not-authorized"
            ),
            (
                {
                    $0.header(on: $1)
                    $0.auth(XMPPTrial.plain(Self.user, Trial.project.serverKey), on: $1)
                    $0.header(on: $1)
                    $0.message(#"{"to":"a","message_id":"1"}"#, on: $1)
                }, "not-authorized"
            ),
        ]
        for (steps, word) in table {
            var trial = XMPPTrial()
            let id = try trial.open()
            steps(&trial, id)
            let text = trial.text(on: id)
            #expect(text.contains("<stream:error><\(word) "), "\(word): \(text)")
            #expect(text.hasPrefix("<stream:stream "))
            #expect(text.hasSuffix("</stream:stream>"))
            #expect(trial.closed == [id])
        }
        var trial = XMPPTrial()
        let id = try trial.login()
        trial.receive(.element(stray), on: id)
        #expect(trial.text(on: id).contains("<unsupported-stanza-type "))
        let other = try trial.login()
        trial.receive(.element(XMLElement(XMLName("message", in: XMPPTrial.client))), on: other)
        #expect(trial.text(on: other).contains("<invalid-xml "))
        let third = try trial.login()
        trial.trial.simulator.failXMPP(third, reason: "a stanza longer than 65536 bytes")
        trial.pass(0)
        #expect(trial.text(on: third).contains("<not-well-formed "))
        #expect(trial.closed.count == 3)
    }

    @Test func `each project may open 400 connections a minute and hold 2,500`() throws {
        var trial = XMPPTrial()
        var open: [UInt64] = []
        func refused(_ trial: inout XMPPTrial) throws -> String {
            let id = try trial.open()
            trial.header(on: id)
            trial.auth(XMPPTrial.plain(Self.user, Trial.project.serverKey), on: id)
            #expect(trial.closed.contains(id))
            return trial.text(on: id)
        }
        for _ in 0..<400 { open.append(try trial.login()) }
        #expect(try refused(&trial).contains("<resource-constraint "))
        _ = try trial.login(Trial.other)
        while open.count < 2_500 {
            if open.count % 400 == 0 { trial.pass(60_000) }
            open.append(try trial.login())
        }
        trial.pass(60_000)
        #expect(try refused(&trial).contains("<resource-constraint "))
        trial.leave(open[7])
        _ = try trial.login()
        #expect(try trial.statistic("refused") == 2)
        #expect(try trial.statistic("open") == 2_501)
    }
}
