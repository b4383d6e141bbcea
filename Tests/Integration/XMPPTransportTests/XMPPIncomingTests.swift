import FCMWire
import FanfareModel
import Testing

@testable import XMPPTransport

/// What the peer sends of its own accord, and peers that mean no good.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct XMPPIncomingTests {
    @Test func upstreamMessageIsAcknowledgedOnlyByItsReply() throws {
        let peer = try XMPPPeer()
        let harness = try PoolHarness(port: peer.port)
        harness.acknowledgesAtOnce = false
        harness.run(until: { $0.pool.readyConnections == 1 })
        try peer.send(XMPPLossTests.gcm(#"{"from":"tok&","message_id":"u-1","category":"c","data":{"a":"b&"}}"#))
        harness.run(until: { $0.incoming.count == 1 })
        harness.run(milliseconds: 50)
        #expect(try peer.ledger().acks.isEmpty)
        let message = try #require(harness.incoming.first)
        #expect(message.kind == .message)
        #expect(message.from == "tok&")
        #expect(message.data == Array(#"{"a":"b&"}"#.utf8))
        harness.replies[0].acknowledge()
        harness.replies[0].acknowledge()
        harness.run(until: { _ in (try? peer.ledger().acks.count) == 1 })
        harness.run(milliseconds: 50)
        #expect(try peer.ledger().acks == [XMPPPeer.Ledger.Ack(connection: 1, to: "tok&", messageID: "u-1")])
    }

    @Test func acknowledgementAfterTheConnectionsEndIsDropped() throws {
        let peer = try XMPPPeer()
        let harness = try PoolHarness(port: peer.port)
        harness.acknowledgesAtOnce = false
        harness.run(until: { $0.pool.readyConnections == 1 })
        try peer.send(XMPPLossTests.gcm(#"{"from":"tok","message_id":"u-1"}"#))
        harness.run(until: { $0.incoming.count == 1 })
        peer.command(#"{"do":"close","how":"fin"}"#)
        harness.run(until: { $0.timesReady == 2 })
        harness.replies[0].acknowledge()
        #expect(harness.run(["token.1"]).map(\.kind) == ["ack"])
        #expect(try peer.ledger().acks.isEmpty)
    }

    @Test func messageGivenBackEndsItsConnectionAndArrivesOnAnother() throws {
        let peer = try XMPPPeer()
        let harness = try PoolHarness(port: peer.port)
        harness.acknowledgesAtOnce = false
        harness.run(until: { $0.pool.readyConnections == 1 })
        try peer.send(XMPPLossTests.gcm(#"{"from":"tok","message_id":"u-1"}"#))
        harness.run(until: { $0.incoming.count == 1 })
        harness.replies[0].giveBack()
        harness.replies[0].giveBack()
        harness.replies[0].acknowledge()
        harness.run(until: { $0.timesReady == 2 && $0.pool.connections.count == 1 })
        #expect(harness.warnings.count == 1, "\(harness.warnings)")
        #expect(try peer.ledger().acks.isEmpty)
        try peer.send(XMPPLossTests.gcm(#"{"from":"tok","message_id":"u-1"}"#))
        harness.run(until: { $0.incoming.count == 2 })
        harness.replies[1].acknowledge()
        harness.run(until: { _ in (try? peer.ledger().acks.count) == 1 })
        #expect(try peer.ledger().acks == [XMPPPeer.Ledger.Ack(connection: 2, to: "tok", messageID: "u-1")])
    }

    @Test func receiptNamesItsMessage() throws {
        let peer = try XMPPPeer()
        let harness = try PoolHarness(port: peer.port)
        harness.run(until: { $0.pool.readyConnections == 1 })
        let data =
            #"{"message_status":"MESSAGE_SENT_TO_DEVICE","original_message_id":"job/3/1/ab","#
            + #""device_registration_id":"tok"}"#
        let receipt =
            #"{"message_type":"receipt","from":"gcm.googleapis.com","message_id":"dr2:x","category":"c","data":\#(data)}"#
        try peer.send(XMPPLossTests.gcm(receipt))
        harness.run(until: { _ in (try? peer.ledger().acks.count) == 1 })
        guard case .receipt(let status, let original, let token, nil)? = harness.incoming.first?.kind else {
            Issue.record("\(harness.incoming)")
            return
        }
        #expect([status, original, token] == ["MESSAGE_SENT_TO_DEVICE", "job/3/1/ab", "tok"])
        #expect(try peer.ledger().acks.first?.messageID == "dr2:x")
        #expect(try peer.ledger().acks.first?.to == "gcm.googleapis.com")
    }

    @Test func badAckIsRepeatedOnce() throws {
        let peer = try XMPPPeer()
        let harness = try PoolHarness(port: peer.port)
        harness.run(until: { $0.pool.readyConnections == 1 })
        try peer.send(XMPPLossTests.gcm(#"{"from":"tok","message_id":"u-1"}"#))
        harness.run(until: { _ in (try? peer.ledger().acks.count) == 1 })
        let nack = XMPPLossTests.gcm(#"{"message_type":"nack","message_id":"u-1","error":"BAD_ACK"}"#)
        try peer.send(nack)
        harness.run(until: { _ in (try? peer.ledger().acks.count) == 2 })
        try peer.send(nack)
        harness.run(until: { $0.incidentCount == 2 })
        #expect(harness.incidents.last == .badAck(messageID: "u-1", isRepeated: false))
        harness.run(milliseconds: 50)
        #expect(try peer.ledger().acks.count == 2)
        #expect(try peer.ledger().connections == 1)
    }

    // MARK: Hostile peers

    private static let header =
        "<?xml version='1.0'?><stream:stream version='1.0' xmlns='jabber:client' "
        + "xmlns:stream='http://etherx.jabber.org/streams'>"

    @Test(arguments: [
        ("<html>", "not an XMPP stream"),
        ("HTTP/1.1 400 Bad Request\\r\\n\\r\\n", "not well-formed"),
        ("<stream:stream xmlns:stream='http://etherx.example/streams'>", "not an XMPP stream"),
        ("<!DOCTYPE x [<!ENTITY a 'aaaa'><!ENTITY b '&a;&a;&a;'>]><x>&b;</x>", "document type"),
        ("\(header)<stream:features><mechanisms><mechanism>PLAIN</mechanism></mechanisms></stream:features>", "PLAIN"),
        ("\(header)<features><mechanisms/></features>", "{jabber:client}features"),
        ("\(header)<success xmlns='urn:ietf:params:xml:ns:xmpp-sasl'/>", "success"),
        (
            "\(header)<stream:error><host-unknown xmlns='urn:ietf:params:xml:ns:xmpp-streams'/></stream:error>",
            "host-unknown"
        ),
        ("\(header)</stream:stream>", "closed the stream"),
        ("\(header)<a><b><c><d><e><f><g><h><i><j><k><l><m><n><o><p>", "nested"),
        ("\(header)text", "text between stanzas"),
    ])
    func peerThatIsNotFCMEndsTheConnectionWithAReason(text: String, reason: String) throws {
        let peer = try XMPPPeer(#"[{"raw":"\#(text)"}]"#)
        let harness = try PoolHarness(port: peer.port)
        let tags = harness.enqueue(["token.1"])
        harness.run(until: { !$0.warnings.isEmpty && $0.outcomes[tags[0]] != nil })
        #expect(harness.warnings.first?.contains(reason) == true, "\(harness.warnings)")
        #expect(harness.outcomes[tags[0]]?.kind == "unsent")
    }

    @Test(arguments: ["<message>", "<message><gcm xmlns='google:mobile:data'>", "<m a='", "<!-- "])
    func endlessStanzaEndsTheConnectionAndLosesNothing(start: String) throws {
        // It begins with the first write and never ends.
        let endless = start + String(repeating: "<a/>x", count: 400)
        let peer = try XMPPPeer(#"[{"endless":"\#(endless)"},{}]"#)
        let harness = try PoolHarness(port: peer.port) { $0.maximumConnections = 1 }
        #expect(harness.run(["token.1"]).map(\.kind) == ["ambiguous"])
        #expect(harness.run(["token.2"]).map(\.kind) == ["ack"], "\(harness.warnings)")
        #expect(harness.surplus == 0)
    }

    @Test func answerToAnUnknownMessageIsReportedAndTheConnectionStays() throws {
        let peer = try XMPPPeer()
        let harness = try PoolHarness(port: peer.port)
        let tags = harness.enqueue(["unknown.1"])
        harness.run(until: { $0.incidentCount == 1 })
        #expect("\(harness.incidents)".contains("not unanswered: nobody's"))
        #expect(harness.run(["token.1"]).map(\.kind) == ["ack"])
        // The message waits for its own answer, which may name its recipient alone.
        try peer.send(XMPPLossTests.gcm(#"{"message_type":"ack","from":"unknown.1"}"#))
        harness.run(until: { $0.outcomes[tags[0]] != nil })
        #expect(harness.outcomes[tags[0]]?.kind == "ack")
        #expect(try peer.ledger().connections == 1)
        #expect(harness.warnings.isEmpty)
    }

    @Test func unexpectedStanzasOfOneTurnAreCountedAndReportedOnce() throws {
        let peer = try XMPPPeer()
        let harness = try PoolHarness(port: peer.port)
        harness.run(until: { $0.pool.readyConnections == 1 })
        try peer.send(String(repeating: "<presence/>", count: 1_000))
        harness.run(until: { $0.incidentCount == 1_000 })
        #expect(!harness.timedOut && harness.incidents.count < 1_000)
        #expect(try peer.ledger().connections == 1)
    }

    @Test func answerBeforeGarbageCounts() throws {
        let peer = try XMPPPeer()
        let harness = try PoolHarness(port: peer.port)
        _ = harness.enqueue(["hold.1", "hold.2"])
        harness.run(until: { _ in (try? peer.ledger().messages.count) == 2 })
        try peer.send(XMPPLossTests.gcm(#"{"message_type":"ack","message_id":"job/1/1/0"}"#) + "<oops></message>")
        harness.run(until: { $0.outcomes.count == 2 })
        #expect(harness.outcomes[1]?.kind == "ack")
        #expect(harness.outcomes[2]?.kind == "ambiguous")
    }
}
