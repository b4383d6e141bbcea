import FanfareModel
import FanfareXML
import Testing

@testable import FCMWire

@Suite struct XMPPSessionTests {
    // MARK: Negotiation

    @Test func theNegotiationGoesStepByStep() {
        var story = XMPPStory()
        #expect(story.written(.connected) == [XMPPStanza.header()])
        #expect(story.written(XMPPStory.header) == [])
        #expect(story.phase == .opening)
        let auth = #"<auth mechanism="PLAIN" xmlns="urn:ietf:params:xml:ns:xmpp-sasl">AHVAaABw</auth>"#
        #expect(story.written(XMPPStory.mechanisms("X-OAUTH2", "PLAIN")) == [Array(auth.utf8)])
        #expect(story.phase == .authenticating)
        #expect(story.handle(XMPPStory.success) == [.restartParser, .write(XMPPStanza.header())])
        #expect(story.phase == .restarting)
        #expect(story.written(XMPPStory.header) == [])
        #expect(story.written(XMPPStory.offer(bind: true, session: true)) == [XMPPStanza.bind()])
        #expect(story.handle(XMPPStory.bound) == [.write(XMPPStanza.session()), .becameReady])
        #expect(story.session.room == 3)
        // The session's answer, good or bad, is of no account.
        for type in ["result", "error"] {
            let answer = XMLElement(XMPPStory.client("iq"), attributes: ["type": type, "id": "session-1"])
            #expect(story.handle(.arrived(.element(answer))) == [])
        }
        #expect(story.phase == .ready)
    }

    @Test func aSessionThatIsOptionalIsNotAskedFor() {
        var story = XMPPStory()
        story.negotiate(until: .binding, session: false)
        #expect(story.handle(XMPPStory.bound) == [.becameReady])
    }

    @Test func refusedCredentialIsReportedBeforeTheEnd() {
        for condition in ["not-authorized", "account-disabled", "malformed-request"] {
            var story = XMPPStory()
            story.negotiate(until: .authenticating)
            #expect(
                story.handle(XMPPStory.failure(condition)) == [
                    .refusedCredential(condition), .close(reason: "authentication failed: \(condition)"),
                ]
            )
        }
        var story = XMPPStory()
        story.negotiate(until: .authenticating)
        let reason = "authentication failed: temporary-auth-failure"
        #expect(story.handle(XMPPStory.failure("temporary-auth-failure")) == [.close(reason: Reason(reason))])
    }

    @Test func withoutPlainOrBindThereIsNoConnection() {
        var story = XMPPStory()
        story.negotiate(until: .opening)
        #expect(story.handle(XMPPStory.mechanisms("X-OAUTH2")) == [.close(reason: "the peer does not offer PLAIN")])
        story = XMPPStory()
        story.negotiate(until: .restarting)
        let reason = "the peer does not offer to bind a resource"
        #expect(story.handle(XMPPStory.offer(bind: false, session: true)) == [.close(reason: Reason(reason))])
    }

    private typealias Arrival = (name: String, event: XMPPSession.Event, belongs: [XMPPSession.Phase], breaks: Bool)

    /// What a peer may say: the phases in which it belongs there, and whether it breaks the stream in any phase.
    private static let arrivals: [Arrival] = [
        ("features", XMPPStory.mechanisms("PLAIN"), [.opening], false),
        ("features of bind", XMPPStory.offer(bind: true, session: false), [.restarting], false),
        ("success", XMPPStory.success, [.authenticating], false),
        ("failure", XMPPStory.failure("aborted"), [], false),
        ("iq", XMPPStory.bound, [.binding], false),
        ("ack", XMPPStory.gcm(#"{"message_type":"ack","message_id":"m"}"#), [], false),
        ("nack", XMPPStory.gcm(#"{"message_type":"nack","message_id":"m","error":"X"}"#), [], false),
        ("upstream", XMPPStory.gcm(#"{"from":"t","message_id":"m"}"#), served, false),
        ("control", XMPPStory.gcm(#"{"message_type":"control","control_type":"x"}"#), [], false),
        ("foreign", .arrived(.element(XMLElement(XMLName("message", in: "jabber:server")))), [], false),
        ("presence", .arrived(.element(XMLElement(XMPPStory.client("presence")))), [], false),
        ("message", .arrived(.element(XMLElement(XMPPStory.client("message")))), [], false),
        ("foreign gcm", XMPPStory.gcm("{}", namespace: "google:mobile:date"), [], false),
        ("not JSON", XMPPStory.gcm("{"), [], false),
        ("an array", XMPPStory.gcm("[]"), [], false),
        ("no id", XMPPStory.gcm(#"{"from":"t"}"#), [], false),
        ("no sender", XMPPStory.gcm(#"{"message_id":"m"}"#), [], false),
        ("foreign type", XMPPStory.gcm(#"{"message_type":"ackk","message_id":"m"}"#), [], false),
        ("ack without id", XMPPStory.gcm(#"{"message_type":"ack"}"#), [], false),
        ("nack without id", XMPPStory.gcm(#"{"message_type":"nack","error":"X","from":"u"}"#), [], false),
        ("bad ack without id", XMPPStory.gcm(#"{"message_type":"nack","error":"BAD_ACK","from":"t"}"#), [], false),
        ("error of another message", XMPPStory.error(id: "m9"), [], false),
        ("stream error", XMPPStory.streamError("conflict"), [], true),
        ("the end", .arrived(.closed), [], true),
        ("a header", XMPPStory.header, [], true),
        ("garbage", .unreadable(reason: "not XML"), [], true),
    ]
    private static let served: [XMPPSession.Phase] = [.ready, .draining]

    @Test func unexpectedElementDuringTheHandshakeEndsTheConnection() {
        for phase in XMPPStory.phases where !Self.served.contains(phase) {
            for arrival in Self.arrivals {
                var story = XMPPStory()
                story.negotiate(until: phase, session: false)
                let actions = story.handle(arrival.event)
                let closes = actions.contains { if case .close = $0 { true } else { false } }
                #expect(closes == !arrival.belongs.contains(phase), "\(arrival.name) while \(phase): \(actions)")
                guard closes, case .close(let reason) = actions.last else { continue }
                #expect(reason != "" && reason.description.utf8.count < 300)
                // Nothing more is heard of what comes after.
                #expect(story.handle(XMPPStory.gcm(#"{"from":"t","message_id":"m"}"#)) == [])
                #expect(story.handle(.stop(reason: "again")) == [])
            }
        }
    }

    @Test func unexpectedStanzaIsReportedAndOnlyABrokenStreamEndsTheConnection() {
        for (phase, arrival) in Self.served.flatMap({ phase in Self.arrivals.map { (phase, $0) } }) {
            var story = XMPPStory()
            story.negotiate(until: .ready)
            _ = story.send(1, to: "t")
            if phase == .draining { _ = story.handle(XMPPStory.draining) }
            let actions = story.handle(arrival.event)
            let name = "\(arrival.name) while \(phase): \(actions)"
            if arrival.breaks {
                #expect(actions.count == 1 && story.phase != phase, "\(name)")
                continue
            }
            #expect(story.phase == phase && story.session.window.count == 1, "\(name)")
            if !arrival.belongs.contains(phase) {
                guard actions.count == 1, case .report(let incident) = actions[0] else {
                    Issue.record("\(name)")
                    continue
                }
                #expect("\(incident)".utf8.count < 300)
            }
            let ack = RequestOutcome.stanza(Array(XMPPStory.ackText(1).utf8))
            #expect(story.handle(XMPPStory.ack(1)) == [.complete(tag: 1, ack)], "\(name)")
        }
    }

    @Test func anElementBeforeTheSecondHeaderIsOfTheOldDocument() {
        var story = XMPPStory()
        story.negotiate(until: .authenticating)
        _ = story.handle(XMPPStory.success)
        let reason = "an element before the stream's header"
        #expect(story.handle(XMPPStory.offer(bind: true, session: false)) == [.close(reason: Reason(reason))])
    }

    @Test func aRootOfAnotherNamespaceIsNoStream() {
        var story = XMPPStory()
        _ = story.handle(.connected)
        let root = XMLStreamEvent.opened(XMLName("stream", in: "jabber:client"), attributes: [:])
        #expect(story.handle(.arrived(root)) == [.close(reason: "the peer's document is not an XMPP stream")])
    }

    // MARK: Time

    @Test func aNegotiationHasItsTime() {
        for phase in XMPPStory.phases.prefix(4) {
            var story = XMPPStory()
            story.negotiate(until: phase)
            #expect(story.session.nextDeadlineMs == 10_000)
            story.nowMs = 9_999
            #expect(story.handle(.tick) == [])
            story.nowMs = 10_000
            #expect(story.handle(.tick) == [.close(reason: "no answer in time while \(phase)")])
        }
    }

    @Test func blanksAreSentWhenNothingElseIs() {
        var story = XMPPStory()
        story.negotiate(until: .ready)
        #expect(story.session.nextDeadlineMs == 60_000)
        story.nowMs = 30_000
        _ = story.send(1)
        _ = story.handle(XMPPStory.ack(1))
        story.nowMs = 60_000
        #expect(story.handle(.tick) == [])
        story.nowMs = 90_000
        #expect(story.handle(.tick) == [.write([0x20])])
        #expect(story.session.nextDeadlineMs == 150_000)
    }

    @Test func aSilentPeerIsReplacedAndABlankIsASign() {
        var story = XMPPStory()
        story.negotiate(until: .ready)
        for minute in 1..<15 {
            story.nowMs = Int64(minute) * 60_000
            #expect(story.handle(.tick) == [.write([0x20])])
        }
        story.nowMs = 890_000
        _ = story.handle(.receivedBytes)
        story.nowMs = 900_000
        #expect(story.handle(.tick) == [.write([0x20])])
        story.nowMs = 1_790_000
        #expect(story.handle(.tick) == [.close(reason: "nothing arrived for 900000 ms")])
    }

    @Test func aMessageWithoutAnAnswerEndsTheConnection() {
        var story = XMPPStory()
        story.negotiate(until: .ready)
        _ = story.send(1)
        story.nowMs = 20_000
        _ = story.send(2)
        _ = story.handle(XMPPStory.ack(1))
        story.nowMs = 79_999
        // The first one's time has come, and it is answered.
        #expect(story.handle(.tick) == [])
        story.nowMs = 80_000
        #expect(story.handle(.tick) == [.close(reason: "no ack within 60000 ms")])
        #expect(
            story.handle(.lost(reason: "", handedOver: .max)) == [
                .complete(tag: 2, .ambiguous(reason: "no ack within 60000 ms"))
            ]
        )
    }
}
