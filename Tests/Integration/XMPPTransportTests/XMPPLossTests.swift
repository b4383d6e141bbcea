import FCMWire
import FanfareModel
import SocketTransport
import TestSupport
import Testing

@testable import XMPPTransport

/// Connections that end, drain, stall or never come to be: nothing is lost, nothing is said to be unsent that may have
/// left, and the next connection continues.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct XMPPLossTests {
    @Test(arguments: ["reset", "close"])
    func unansweredMessagesAreAmbiguousWhenThePeerEndsTheConnection(how: String) throws {
        let peer = try XMPPPeer()
        let harness = try PoolHarness(port: peer.port) { $0.maximumConnections = 1 }
        let outcomes = harness.run(["token.1", "hold.1", "hold.2", "\(how).1"])
        #expect(outcomes.map(\.kind) == ["ack", "ambiguous", "ambiguous", "ambiguous"], "\(harness.warnings)")
        #expect(harness.run(["token.2"]).map(\.kind) == ["ack"])
        #expect(try peer.ledger().connections == 2)
        #expect(try peer.ledger().received.values.allSatisfy { $0 == 1 })
        #expect(harness.surplus == 0)
    }

    @Test func bytesThatThePeerNeverReadArePartlyKnownToBeUnsent() throws {
        let peer = try XMPPPeer(#"[{"deaf":true}]"#)
        let harness = try PoolHarness(port: peer.port) {
            $0.session.ackMs = 1_500
            $0.maximumConnections = 1
            $0.address.maximumBufferedBytes = 64 << 20
        }
        harness.run(until: { $0.pool.readyConnections == 1 })
        let body = [UInt8](repeating: UInt8(ascii: "x"), count: 200_000)
        for tag: UInt64 in 1...100 { harness.pool.send(tag: tag, messageID: "m\(tag)", json: body) }
        harness.run(until: { $0.outcomes.count == 100 })
        let kinds = harness.outcomes.values.map { $0 }.kinds
        // What the kernels' buffers took, and what they had no room for: in this order.
        #expect(kinds["ambiguous", default: 0] > 0, "\(kinds)")
        #expect(kinds["unsent", default: 0] > 0, "\(kinds)")
        let order = (1...100).compactMap { harness.outcomes[UInt64($0)]?.kind }
        #expect(order == order.sorted())
    }

    @Test func nackOfDrainingOpensAnotherConnection() throws {
        let peer = try XMPPPeer()
        let harness = try PoolHarness(port: peer.port) { $0.session.drainGraceMs = 100 }
        _ = harness.enqueue(["hold.1", "drain.1"])
        harness.run(until: { $0.outcomes[2] != nil && $0.timesReady == 2 })
        #expect(harness.outcomes[2]?.kind == "nack")
        #expect(harness.outcomes[2]?.reason.contains("CONNECTION_DRAINING") == true)
        #expect(harness.run(["token.1"]).map(\.kind) == ["ack"])
        #expect(try peer.ledger().messages.map(\.connection) == [1, 1, 2])
        #expect(harness.outcomes[1] == nil)
    }

    @Test func drainingConnectionCarriesItsAnswersAndCloses() throws {
        let peer = try XMPPPeer()
        let harness = try PoolHarness(port: peer.port) { $0.session.drainGraceMs = 200 }
        let held = harness.enqueue(["hold.1"])
        harness.run(until: { _ in (try? peer.ledger().messages.count) == 1 })
        try peer.send(Self.gcm(#"{"message_type":"control","control_type":"CONNECTION_DRAINING"}"#), connection: 1)
        harness.run(until: { $0.timesReady == 2 })
        #expect(harness.run(["token.1"]).map(\.kind) == ["ack"])
        #expect(try peer.ledger().messages.last?.connection == 2)
        // An upstream message on the draining connection is acknowledged there.
        try peer.send(Self.gcm(#"{"from":"tok","message_id":"u-1","category":"c","data":{}}"#), connection: 1)
        harness.run(until: { _ in (try? peer.ledger().acks.count) == 1 })
        #expect(try peer.ledger().acks == [XMPPPeer.Ledger.Ack(connection: 1, to: "tok", messageID: "u-1")])
        #expect(harness.outcomes[held[0]] == nil)
        try peer.send(Self.gcm(#"{"message_type":"ack","message_id":"job/1/1/0"}"#), connection: 1)
        harness.run(until: { $0.pool.connections.count == 1 })
        #expect(harness.outcomes[held[0]]?.kind == "ack")
        #expect(harness.warnings.isEmpty)
        harness.run(until: { _ in (try? peer.ledger().footers) == 1 })
    }

    @Test func peerThatDrainsEveryConnectionAtOnceGetsNewOnesWithPauses() throws {
        let peer = try XMPPPeer()
        let harness = try PoolHarness(port: peer.port)
        harness.onReady = {
            try? peer.send(Self.gcm(#"{"message_type":"control","control_type":"CONNECTION_DRAINING"}"#))
        }
        harness.run(milliseconds: 900)
        // 50, 100, 200, 200, 200 ms between them, three quarters of each.
        #expect((2...8).contains(harness.timesReady), "\(harness.timesReady)")
        #expect(harness.warnings.isEmpty, "\(harness.warnings)")
    }

    @Test func messageWithoutAnswerEndsItsConnection() throws {
        let peer = try XMPPPeer()
        let harness = try PoolHarness(port: peer.port) { $0.session.ackMs = 300 }
        // A message that waits longer for the login of a busy machine is unsent.
        harness.run(until: { $0.timesReady > 0 })
        #expect(harness.run(["ignore.1"]).map(\.kind) == ["ambiguous"])
        #expect(harness.run(["token.1"]).map(\.kind) == ["ack"])
        #expect(harness.warnings == ["an XMPP connection ended: no ack within 300 ms"])
    }

    @Test func idleConnectionSendsBlanks() throws {
        let peer = try XMPPPeer()
        let harness = try PoolHarness(port: peer.port) { $0.session.keepaliveMs = 100 }
        harness.run(until: { _ in (try? peer.ledger().blanks) ?? 0 >= 3 })
        #expect(!harness.timedOut)
        #expect(try peer.ledger().connections == 1)
    }

    @Test func idleConnectionsBeyondTheMinimumClose() throws {
        let peer = try XMPPPeer()
        let harness = try PoolHarness(port: peer.port) { $0.idleMs = 200 }
        harness.run((1...250).map { "token.\($0)" })
        harness.run(until: { $0.pool.connections.count == 1 })
        #expect(!harness.timedOut)
        #expect(harness.warnings.isEmpty)
        #expect(harness.run(["token.x"]).map(\.kind) == ["ack"])
    }

    // MARK: What never becomes a connection

    @Test func refusedCredentialIsReported() throws {
        let peer = try XMPPPeer(#"[{"auth":"not-authorized"}]"#)
        let harness = try PoolHarness(port: peer.port)
        let tags = harness.enqueue(["token.1"])
        harness.run(until: { !$0.refusals.isEmpty && $0.outcomes[tags[0]] != nil })
        #expect(harness.refusals.first == "not-authorized")
        #expect(harness.outcomes[tags[0]]?.kind == "unsent")
        #expect(harness.warnings.first == "an XMPP connection ended: authentication failed: not-authorized")
    }

    @Test func refusedCredentialIsRetriedWithoutAMessage() throws {
        let peer = try XMPPPeer(#"[{"auth":"not-authorized"},{"auth":"not-authorized"},{}]"#)
        let harness = try PoolHarness(port: peer.port)
        harness.run(until: { $0.timesReady == 1 })
        #expect(!harness.timedOut)
        #expect(harness.refusals.count == 2)
        #expect(try peer.ledger().connections == 3)
    }

    @Test func peerThatStopsDuringTheHandshakeIsReplaced() throws {
        let peer = try XMPPPeer(#"[{"auth":"hang"},{}]"#)
        let harness = try PoolHarness(port: peer.port) { $0.session.handshakeMs = 300 }
        let tags = harness.enqueue(["token.1"])
        harness.run(until: { $0.outcomes[tags[0]] != nil })
        #expect(harness.warnings == ["an XMPP connection ended: no answer in time while authenticating"])
        #expect(harness.outcomes[tags[0]]?.kind == "unsent")
        #expect(harness.run(["token.2"]).map(\.kind) == ["ack"])
    }

    @Test func certificateOfAnotherNameOrAuthorityIsRefused() throws {
        let other = try XMPPPeer.certificates.get().issue("elsewhere", names: ["DNS:elsewhere.test"])
        let strangers = try Certificates()
        let stranger = try strangers.issue("server", names: ["DNS:localhost"])
        for identity in [other, stranger] {
            let peer = try XMPPPeer(identity: identity)
            let harness = try PoolHarness(port: peer.port)
            let tags = harness.enqueue(["token.1"])
            harness.run(until: { $0.outcomes[tags[0]] != nil && !$0.warnings.isEmpty })
            #expect(harness.outcomes[tags[0]]?.kind == "unsent")
            #expect(harness.warnings.first?.contains("certificate verify failed") == true, "\(harness.warnings)")
            #expect(try peer.ledger().users.isEmpty)
        }
    }

    @Test func portWithoutListenerIsRetriedWithPauses() throws {
        let harness = try PoolHarness(port: 1)
        harness.run(milliseconds: 600)
        // 50, 100, 200, 200 ms, three quarters of each.
        #expect((3...6).contains(harness.warnings.count), "\(harness.warnings)")
        #expect(harness.pool.connections.count == 0)
    }

    @Test func invalidHostNameIsNotResolved() throws {
        let harness = try PoolHarness(port: 443, host: "evil.test/#")
        harness.run(until: { !$0.warnings.isEmpty })
        #expect(harness.warnings == ["an XMPP connection ended: evil.test/# is not a host"])
    }

    static func gcm(_ json: String) -> String {
        let text = json.split(separator: "&", omittingEmptySubsequences: false).joined(separator: "&amp;")
        return "<message><gcm xmlns='google:mobile:data'>\(text)</gcm></message>"
    }
}
