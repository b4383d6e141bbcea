import FCMWire
import FanfareModel
import Testing
import XMPPTransport

/// Against a scripted peer that plays FCM.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct XMPPPoolTests {
    @Test func messagesAreSentAndAcknowledged() throws {
        let peer = try XMPPPeer()
        let harness = try PoolHarness(port: peer.port)
        let outcomes = harness.run((1...250).map { "token.\($0)" })
        #expect(outcomes.kinds == ["ack": 250], "\(harness.warnings)")
        let ledger = try peer.ledger()
        #expect(ledger.received.count == 250)
        #expect(ledger.received.values.allSatisfy { $0 == 1 })
        #expect(Set(ledger.users) == ["123456@gcm.googleapis.com"])
        #expect(ledger.messages.allSatisfy { $0.stanza == $0.id })
        #expect(harness.pool.isIdle)
        #expect(harness.surplus == 0)
    }

    @Test func stanzasSentByteByByteAreRead() throws {
        let peer = try XMPPPeer(#"[{"bytewise":true}]"#)
        let harness = try PoolHarness(port: peer.port)
        #expect(harness.run((1...20).map { "token.\($0)" }).kinds == ["ack": 20], "\(harness.warnings)")
    }

    @Test func answersInAnyOrderMatchTheirMessages() throws {
        let peer = try XMPPPeer()
        let harness = try PoolHarness(port: peer.port)
        let outcomes = harness.run((1...98).map { "hold.\($0)" } + ["nack-BAD_REGISTRATION.1", "release.1"])
        #expect(outcomes.kinds == ["ack": 99, "nack": 1], "\(harness.warnings)")
        for (index, outcome) in outcomes.enumerated() {
            #expect(outcome.reason.contains(#""job/\#(index + 1)/1/0""#), "\(outcome)")
        }
    }

    @Test func connectionCarriesAtMostItsWindow() throws {
        let peer = try XMPPPeer()
        let harness = try PoolHarness(port: peer.port) { $0.maximumConnections = 1 }
        harness.run(["token.1"])
        let tags = harness.enqueue((1...150).map { "hold.\($0)" })
        harness.run(until: { _ in (try? peer.ledger().messages.count) == 101 })
        harness.run(milliseconds: 100)
        #expect(try peer.ledger().messages.count == 101)
        #expect(harness.pool.freeSlots == 0)
        #expect(tags.allSatisfy { harness.outcomes[$0] == nil })
    }

    @Test func connectionsOpenByDemandAndPermit() throws {
        let peer = try XMPPPeer()
        let harness = try PoolHarness(port: peer.port) { $0.maximumConnections = 3 }
        var asked = 0
        harness.pool.authorizeConnection = { answer in
            asked += 1
            answer(true)
        }
        _ = harness.enqueue((1...280).map { "hold.\($0)" })
        harness.run(until: { _ in (try? peer.ledger().messages.count) == 280 })
        #expect(!harness.timedOut, "\(harness.warnings)")
        #expect(asked == 3)
        #expect(harness.connections.max() == 3)
        #expect(try peer.ledger().connections == 3)
    }

    @Test func withoutPermitNoConnectionOpensAndNoMessageIsAccepted() throws {
        let peer = try XMPPPeer()
        let harness = try PoolHarness(port: peer.port)
        var isAllowed = false
        harness.pool.authorizeConnection = { $0(isAllowed) }
        let tags = harness.enqueue(["token.1"])
        harness.run(milliseconds: 600)
        #expect(harness.pool.freeSlots == 0)
        #expect(try peer.ledger().connections == 0)
        isAllowed = true
        harness.run(until: { harness in harness.outcomes[tags[0]] != nil })
        #expect(harness.outcomes[tags[0]]?.kind == "ack")
    }

    @Test func latePermitIsAwaitedAndItsRefusalFailsWaitingMessages() throws {
        let peer = try XMPPPeer()
        let harness = try PoolHarness(port: peer.port) { $0.leastConnections = 0 }
        var answers: [(Bool) -> Void] = []
        harness.pool.authorizeConnection = { answers.append($0) }
        let tags = harness.enqueue(["token.1"])
        harness.run(until: { _ in !answers.isEmpty })
        harness.run(milliseconds: 50)
        #expect(harness.outcomes.isEmpty)
        answers.removeFirst()(false)
        harness.run(until: { harness in harness.outcomes[tags[0]] != nil })
        #expect(harness.outcomes[tags[0]]?.kind == "unsent")
        #expect(try peer.ledger().connections == 0)
    }

    @Test func tenThousandMessagesTakeLinearTime() throws {
        let peer = try XMPPPeer()
        let harness = try PoolHarness(port: peer.port)
        let outcomes = harness.run((1...10_000).map { "token.\($0)" }, limitMs: 60_000)
        #expect(outcomes.kinds == ["ack": 10_000], "\(harness.warnings)")
        #expect(harness.surplus == 0)
    }

    // MARK: Nacks and errors

    @Test func nackIsPassedOnUnchanged() throws {
        let peer = try XMPPPeer()
        let harness = try PoolHarness(port: peer.port)
        let outcomes = harness.run(["nack-DEVICE_UNREGISTERED.1", "token.1"])
        #expect(outcomes.map(\.kind) == ["nack", "ack"])
        #expect(outcomes[0].reason.contains("DEVICE_UNREGISTERED"))
    }

    @Test func errorWithAStanzaIDIsThatMessagesNack() throws {
        let peer = try XMPPPeer()
        let harness = try PoolHarness(port: peer.port)
        let outcomes = harness.run(["hold.1", "error-id.1", "release.1"])
        #expect(outcomes.map(\.kind) == ["ack", "nack", "ack"])
        #expect(outcomes[1].reason.contains("INVALID_JSON"))
        #expect(try peer.ledger().connections == 1)
    }

    @Test func errorWithoutAnIDIsTheNackOfTheMessageThatGetsNoAnswer() throws {
        let peer = try XMPPPeer()
        let harness = try PoolHarness(port: peer.port) { $0.session.ackMs = 3_000 }
        let outcomes = harness.run(["hold.1", "error.1", "token.1", "release.1"])
        #expect(outcomes.map(\.kind) == ["ack", "nack", "ack", "ack"])
        #expect(harness.incidents == [.strayError("bad-request")])
    }
}
