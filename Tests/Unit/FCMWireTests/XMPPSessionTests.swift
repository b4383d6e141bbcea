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
        #expect(story.handle(XMPPStory.failure("temporary-auth-failure")) == [.close(reason: reason)])
    }

    @Test func withoutPlainOrBindThereIsNoConnection() {
        var story = XMPPStory()
        story.negotiate(until: .opening)
        #expect(story.handle(XMPPStory.mechanisms("X-OAUTH2")) == [.close(reason: "the peer does not offer PLAIN")])
        story = XMPPStory()
        story.negotiate(until: .restarting)
        let reason = "the peer does not offer to bind a resource"
        #expect(story.handle(XMPPStory.offer(bind: false, session: true)) == [.close(reason: reason)])
    }

    /// Every phase meets every kind of element; what does not belong there ends the connection, and says what it was.
    @Test func unexpectedStanzaEndsTheConnection() {
        let arrivals: [(name: String, event: XMPPSession.Event, belongs: [XMPPSession.Phase])] = [
            ("features", XMPPStory.mechanisms("PLAIN"), [.opening]),
            ("features of bind", XMPPStory.offer(bind: true, session: false), [.restarting]),
            ("success", XMPPStory.success, [.authenticating]),
            ("failure", XMPPStory.failure("aborted"), []),
            ("iq", XMPPStory.bound, [.binding]),
            ("ack", XMPPStory.gcm(#"{"message_type":"ack","message_id":"m"}"#), []),
            ("upstream", XMPPStory.gcm(#"{"from":"t","message_id":"m"}"#), [.ready, .draining]),
            ("control", XMPPStory.gcm(#"{"message_type":"control","control_type":"x"}"#), [.ready, .draining]),
            ("foreign", .arrived(.element(XMLElement(XMLName("message", in: "jabber:server")))), []),
            ("presence", .arrived(.element(XMLElement(XMPPStory.client("presence")))), []),
            ("foreign gcm", XMPPStory.gcm("{}", namespace: "google:mobile:date"), []),
            ("not JSON", XMPPStory.gcm("{"), []),
            ("an array", XMPPStory.gcm("[]"), []),
            ("no id", XMPPStory.gcm(#"{"from":"t"}"#), []),
            ("no sender", XMPPStory.gcm(#"{"message_id":"m"}"#), []),
            ("foreign type", XMPPStory.gcm(#"{"message_type":"ackk","message_id":"m"}"#), []),
            ("ack without id", XMPPStory.gcm(#"{"message_type":"ack"}"#), []),
            ("stream error", XMPPStory.streamError("conflict"), []),
            ("the end", .arrived(.closed), []),
            ("a header", XMPPStory.header, []),
            ("garbage", .unreadable(reason: "not XML"), []),
        ]
        for phase in XMPPStory.phases {
            for arrival in arrivals where !(arrival.name == "a header" && phase == .opening) {
                var story = XMPPStory()
                story.negotiate(until: phase, session: false)
                let actions = story.handle(arrival.event)
                let closes = actions.contains { if case .close = $0 { true } else { false } }
                #expect(closes == !arrival.belongs.contains(phase), "\(arrival.name) while \(phase): \(actions)")
                guard closes else { continue }
                if case .close(let reason) = actions.last { #expect(!reason.isEmpty && reason.utf8.count < 300) }
                // Nothing more is heard of what comes after.
                #expect(story.handle(XMPPStory.gcm(#"{"from":"t","message_id":"m"}"#)) == [])
                #expect(story.handle(.stop(reason: "again")) == [])
            }
        }
    }

    @Test func anElementBeforeTheSecondHeaderIsOfTheOldDocument() {
        var story = XMPPStory()
        story.negotiate(until: .authenticating)
        _ = story.handle(XMPPStory.success)
        let reason = "an element before the stream's header"
        #expect(story.handle(XMPPStory.offer(bind: true, session: false)) == [.close(reason: reason)])
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
