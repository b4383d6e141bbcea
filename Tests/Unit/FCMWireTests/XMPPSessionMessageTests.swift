import FanfareModel
import Testing

@testable import FCMWire

@Suite struct XMPPSessionMessageTests {
    private func ready() -> XMPPStory {
        var story = XMPPStory()
        story.negotiate(until: .ready)
        return story
    }

    private func ackOutcome(_ number: UInt64) -> RequestOutcome { .stanza(Array(XMPPStory.ackText(number).utf8)) }

    @Test func theWindowIsWhatMayBeUnanswered() {
        var story = ready()
        for number: UInt64 in 1...3 { #expect(story.send(number).count == 1) }
        #expect(story.session.room == 0)
        let refusal = RequestOutcome.unsent(reason: "the connection takes no message now")
        #expect(story.send(4) == [.complete(tag: 4, refusal)])
        #expect(story.handle(XMPPStory.ack(2)) == [.complete(tag: 2, ackOutcome(2))])
        #expect(story.session.room == 1)
        // Acknowledgements of ours do not count.
        for _ in 0..<10 { _ = story.handle(XMPPStory.gcm(#"{"from":"t","message_id":"u"}"#)) }
        #expect(story.session.room == 1)
    }

    @Test func idInFlightIsNotSentTwice() {
        var story = ready()
        _ = story.send(1)
        let refusal = RequestOutcome.unsent(reason: "a message of that id is under way")
        #expect(story.handle(.send(tag: 9, messageID: "m1", json: [])) == [.complete(tag: 9, refusal)])
        #expect(story.handle(XMPPStory.ack(1)) == [.complete(tag: 1, ackOutcome(1))])
    }

    @Test func answerToAnUnknownMessageIsReportedAndTouchesNoOther() {
        var story = ready()
        _ = story.send(1)
        let unknown = { (id: String) -> XMPPSession.Action in
            .report(.unexpected("an answer to a message that is not unanswered: \(id)"))
        }
        #expect(story.handle(XMPPStory.ack(7)) == [unknown("m7")])
        #expect(story.handle(XMPPStory.ack(1)) == [.complete(tag: 1, ackOutcome(1))])
        // The same ack once more.
        #expect(story.handle(XMPPStory.ack(1)) == [unknown("m1")])
        #expect(story.phase == .ready)
    }

    // MARK: Answers without an id

    private static let partial =
        #"{"from":"K","message_type":"ack","success":1,"failure":2,"failed_registration_ids":["a","b"]}"#

    /// FCM's documentation prints the ack of a group's partial success so.
    @Test func ackWithoutAnIDBelongsToTheOldestMessageToItsSender() {
        var story = ready()
        _ = story.send(1, to: "other")
        _ = story.send(2, to: "K")
        _ = story.send(3, to: "K")
        for number: UInt64 in [2, 3] {
            let answer = Self.partial.dropLast() + #","message_id":"m\#(number)"}"#
            let outcome = RequestOutcome.stanza(Array(answer.utf8))
            #expect(story.handle(XMPPStory.gcm(Self.partial)) == [.complete(tag: number, outcome)])
            let verdict = XMPPResponse.verdict(outcome, kind: .group, recipient: "K", nowMs: 0, atMostOnce: true)
            #expect(verdict == .sentPartly(messageID: "m\(number)", failedTokens: ["a", "b"]))
        }
        let report = XMPPSession.Action.report(.unexpected("an ack without a message_id"))
        #expect(story.handle(XMPPStory.gcm(Self.partial)) == [report])
        #expect(story.handle(XMPPStory.ack(1)) == [.complete(tag: 1, ackOutcome(1))])
    }

    @Test func nackWithoutAnIDRefusesTheOldestMessageToItsSender() {
        var story = ready()
        _ = story.send(1, to: "t")
        let nack = XMPPStory.gcm(#"{"message_type":"nack","from":"t","error":"DEVICE_UNREGISTERED"}"#)
        let json = #"{"message_type":"nack","from":"t","error":"DEVICE_UNREGISTERED","message_id":"m1"}"#
        #expect(story.handle(nack) == [.complete(tag: 1, .stanza(Array(json.utf8)))])
        #expect(story.handle(nack) == [.report(.unexpected("a nack without a message_id"))])
    }

    @Test func answerWithoutAnIDToTheSameNameInAnotherNormalFormIsUnexpected() {
        var story = ready()
        _ = story.send(1, to: "caf\u{E9}")
        let ack = XMPPStory.gcm("{\"message_type\":\"ack\",\"from\":\"cafe\u{301}\"}")
        #expect(story.handle(ack) == [.report(.unexpected("an ack without a message_id"))])
        #expect(story.session.window.count == 1)
    }

    @Test func lossSeparatesSentFromUnsentMessages() {
        var story = ready()
        let before = story.session.written
        _ = story.send(1)
        let between = story.session.written
        _ = story.send(2)
        _ = story.send(3)
        #expect(before < between)
        // A single byte of the second was offered to the socket.
        #expect(
            story.handle(.lost(reason: "reset", handedOver: between + 1)) == [
                .complete(tag: 1, .ambiguous(reason: "reset")), .complete(tag: 2, .ambiguous(reason: "reset")),
                .complete(tag: 3, .unsent(reason: "reset")),
            ]
        )
        #expect(story.handle(.lost(reason: "again", handedOver: 0)) == [])
        #expect(story.phase == .closed)
    }

    @Test func nothingOfAMessageLeftIsUnsent() {
        var story = ready()
        let before = story.session.written
        _ = story.send(1)
        let lost = XMPPSession.Event.lost(reason: "reset", handedOver: before)
        #expect(story.handle(lost) == [.complete(tag: 1, .unsent(reason: "reset"))])
    }

    // MARK: Draining

    @Test func aNackOfDrainingRefusesItsMessageAndStopsTheRest() throws {
        var story = ready()
        _ = story.send(1)
        _ = story.send(2)
        let actions = story.handle(XMPPStory.nack(1, "CONNECTION_DRAINING"))
        #expect(actions.count == 2 && actions.last == .startedDraining)
        guard case .complete(tag: 1, let outcome)? = actions.first else {
            Issue.record("\(actions)")
            return
        }
        let verdict = XMPPResponse.verdict(outcome, kind: .token, recipient: "t", nowMs: 0, atMostOnce: true)
        guard case .retry(let retry) = verdict else {
            Issue.record("\(verdict)")
            return
        }
        #expect(retry.cause == .refused && !retry.countsAttempt && !retry.mayHaveArrived && retry.floorMs == 0)
        #expect(story.session.room == 0)
        #expect(story.handle(XMPPStory.ack(2)) == [.complete(tag: 2, ackOutcome(2))])
    }

    @Test func aDrainedConnectionWaitsAndIsClosed() {
        var story = ready()
        _ = story.send(1)
        let control = XMPPStory.gcm(#"{"message_type":"control","control_type":"CONNECTION_DRAINING"}"#)
        #expect(story.handle(control) == [.startedDraining])
        #expect(story.handle(control) == [])
        story.nowMs = 30_000
        #expect(story.handle(.tick) == [])
        _ = story.handle(XMPPStory.ack(1))
        // Receipts still come, and are acknowledged.
        _ = story.handle(XMPPStory.gcm(#"{"from":"t","message_id":"u"}"#))
        story.nowMs = 41_000
        #expect(story.handle(.tick) == [])
        #expect(story.written(.acknowledge(1)).count == 1)
        #expect(story.session.nextDeadlineMs == 40_000)
        #expect(story.handle(.tick) == [.close(reason: "drained")])
    }

    @Test func aDrainingConnectionDoesNotWaitForAnOwedAckForEver() {
        var story = ready()
        _ = story.handle(XMPPStory.gcm(#"{"from":"t","message_id":"u"}"#))
        _ = story.handle(XMPPStory.gcm(#"{"message_type":"control","control_type":"CONNECTION_DRAINING"}"#))
        story.nowMs = 59_999
        #expect(story.handle(.tick) == [])
        story.nowMs = 60_000
        #expect(story.handle(.tick) == [.close(reason: "drained")])
    }

    // MARK: What FCM sends of its own accord

    @Test func anUpstreamMessageIsDeliveredAndAcknowledgedOnce() {
        var story = ready()
        let text = #"{"category":"c","data":{"k":"v"},"from":"t","message_id":"u<1>"}"#
        let incoming = XMPPIncoming(
            kind: .message,
            from: "t",
            category: "c",
            messageID: "u<1>",
            data: Array(#"{"k":"v"}"#.utf8)
        )
        #expect(story.handle(XMPPStory.gcm(text)) == [.deliver(incoming, number: 1)])
        let ack = XMPPStanza.ack(to: "t", messageID: "u<1>")
        #expect(story.written(.acknowledge(1)) == [ack])
        #expect(story.handle(.acknowledge(1)) == [])
        #expect(story.handle(.acknowledge(99)) == [])
        #expect(String(decoding: ack, as: UTF8.self).contains("u&lt;1&gt;"))
        #expect(String(decoding: ack, as: UTF8.self).contains("{&quot;to&quot;:&quot;t&quot;,"))
    }

    @Test func aReceiptSaysWhatItIsOf() throws {
        var story = ready()
        let data =
            #"{"message_status":"MESSAGE_SENT_TO_DEVICE","original_message_id":"job/1/1/a","#
            + #""device_registration_id":"tok","message_sent_timestamp":"1430277821658"}"#
        let text = #"{"message_type":"receipt","from":"gcm.googleapis.com","message_id":"dr2:m","data":\#(data)}"#
        guard case .deliver(let incoming, let number)? = story.handle(XMPPStory.gcm(text)).first else {
            Issue.record("not delivered")
            return
        }
        #expect(
            incoming.kind
                == .receipt(
                    status: "MESSAGE_SENT_TO_DEVICE",
                    originalMessageID: "job/1/1/a",
                    token: "tok",
                    sentMs: 1_430_277_821_658
                )
        )
        #expect(incoming.data == Array(data.utf8))
        let ack = try #require(story.written(.acknowledge(number)).first)
        // To whoever sent it, by its whole id.
        #expect(ack == XMPPStanza.ack(to: "gcm.googleapis.com", messageID: "dr2:m"))
    }

    /// Tables 5 and 7 type `data` as a string; whatever a device sends is kept.
    @Test(arguments: [
        (#"{"k":"v"}"#, #"{"k":"v"}"#), (#""level 7 \"done\"""#, #""level 7 \"done\"""#),
        (#""{\"k\":1}""#, #""{\"k\":1}""#),
        (#""""#, #""""#), (#"[1,"a",{}]"#, #"[1,"a",{}]"#), ("1.50e3", "1.50e3"), ("null", "null"), ("true", "true"),
        (#"{"n":{"a":[0.10]},"n":2}"#, #"{"n":{"a":[0.10]},"n":2}"#),
    ])
    func dataOfAnyTypeIsKeptAsItCame(sent: String, kept: String) throws {
        var story = ready()
        let text = #"{"from":"t","message_id":"u","data":\#(sent)}"#
        guard case .deliver(let incoming, let number)? = story.handle(XMPPStory.gcm(text)).first else {
            Issue.record("not delivered")
            return
        }
        #expect(incoming.kind == .message)
        #expect(String(decoding: incoming.data, as: UTF8.self) == kept)
        #expect(story.written(.acknowledge(number)) == [XMPPStanza.ack(to: "t", messageID: "u")])
    }

    @Test func withoutDataTheMessageIsAnEmptyObject() {
        var story = ready()
        guard case .deliver(let incoming, _)? = story.handle(XMPPStory.gcm(#"{"from":"t","message_id":"u"}"#)).first
        else {
            Issue.record("not delivered")
            return
        }
        #expect(incoming.data == Array("{}".utf8))
    }

    /// The data of a receipt, what is kept of it, and the status, original id and token that are read from it.
    @Test(arguments: [
        (
            #""{\"message_status\":\"S\",\"original_message_id\":\"o\",\"device_registration_id\":\"d\"}""#,
            #"{"message_status":"S","original_message_id":"o","device_registration_id":"d"}"#, ["S", "o", "d"]
        ),
        (#""on its way""#, #""on its way""#, ["", "m", ""]), (#""[1]""#, #""[1]""#, ["", "m", ""]),
        (#"[{"message_status":"S"}]"#, #"[{"message_status":"S"}]"#, ["", "m", ""]), ("null", "null", ["", "m", ""]),
        (#"{"message_status":"S"}"#, #"{"message_status":"S"}"#, ["S", "m", ""]),
    ])
    func aReceiptIsReadFromAnObjectOrFromTheTextOfOne(sent: String, kept: String, facts: [String]) throws {
        var story = ready()
        let text = #"{"message_type":"receipt","from":"gcm.googleapis.com","message_id":"dr2:m","data":\#(sent)}"#
        guard case .deliver(let incoming, let number)? = story.handle(XMPPStory.gcm(text)).first,
            case .receipt(let status, let original, let token, _) = incoming.kind
        else {
            Issue.record("not delivered")
            return
        }
        #expect(String(decoding: incoming.data, as: UTF8.self) == kept)
        #expect([status, original, token] == facts)
        #expect(story.written(.acknowledge(number)) == [XMPPStanza.ack(to: "gcm.googleapis.com", messageID: "dr2:m")])
    }

    @Test func aPeerThatWaitsForNoAckIsEnded() {
        var story = ready()
        var delivered = 0
        while story.phase == .ready {
            delivered += 1
            _ = story.handle(XMPPStory.gcm(#"{"from":"t","message_id":"u"}"#))
        }
        #expect(delivered == 1_001)
    }

    @Test func aBadAckIsRepeatedOnceAndTouchesNoRecipient() {
        var story = ready()
        _ = story.send(1)
        // By chance the id of one of ours.
        _ = story.handle(XMPPStory.gcm(#"{"from":"t","message_id":"m1"}"#))
        _ = story.handle(.acknowledge(1))
        #expect(
            story.handle(XMPPStory.nack(1, "BAD_ACK")) == [
                .report(.badAck(messageID: "m1", isRepeated: true)), .write(XMPPStanza.ack(to: "t", messageID: "m1")),
            ]
        )
        #expect(story.handle(XMPPStory.nack(1, "BAD_ACK")) == [.report(.badAck(messageID: "m1", isRepeated: false))])
        #expect(story.handle(XMPPStory.nack(7, "BAD_ACK")) == [.report(.badAck(messageID: "m7", isRepeated: false))])
        #expect(story.handle(XMPPStory.ack(1)) == [.complete(tag: 1, ackOutcome(1))])
    }

    @Test func anErrorOfAnAckIsABadAck() {
        var story = ready()
        _ = story.send(1)
        _ = story.handle(XMPPStory.gcm(#"{"from":"t","message_id":"u"}"#))
        _ = story.handle(.acknowledge(1))
        #expect(
            story.handle(XMPPStory.error(id: "+u")) == [
                .report(.badAck(messageID: "u", isRepeated: true)), .write(XMPPStanza.ack(to: "t", messageID: "u")),
            ]
        )
        #expect(story.session.window.count == 1)
    }

    // MARK: Errors of stanzas

    private func nackOutcome(_ number: UInt64, _ code: String) -> RequestOutcome {
        let json =
            #"{"message_type":"nack","message_id":"m\#(number)","error":"\#(code)","error_description":"why"}"#
        return .stanza(Array(json.utf8))
    }

    @Test(arguments: [
        ("bad-request", "INVALID_JSON"), ("internal-server-error", "INTERNAL_SERVER_ERROR"),
        ("service-unavailable", "SERVICE_UNAVAILABLE"), ("not-acceptable", "not-acceptable"),
    ])
    func anErrorIsANackOfTheMessageItNames(condition: String, code: String) {
        let events = [
            XMPPStory.error(id: "m2", condition: condition),
            XMPPStory.error(id: "", json: #"{"message_id":"m2"}"#, condition: condition),
        ]
        for event in events {
            var story = ready()
            _ = story.send(1)
            _ = story.send(2)
            #expect(story.handle(event) == [.complete(tag: 2, nackOutcome(2, code))])
            #expect(story.phase == .ready)
        }
    }

    @Test func errorWithoutAnIDIsTheNackOfTheMessageThatGetsNoAnswer() {
        var story = ready()
        for number: UInt64 in 1...3 { _ = story.send(number) }
        #expect(story.handle(XMPPStory.error(id: "")) == [.report(.strayError("bad-request")), .startedDraining])
        #expect(story.handle(XMPPStory.ack(1)) == [.complete(tag: 1, ackOutcome(1))])
        #expect(story.handle(XMPPStory.ack(3)) == [.complete(tag: 3, ackOutcome(3))])
        story.nowMs = 59_999
        #expect(story.handle(.tick) == [])
        story.nowMs = 60_000
        #expect(story.handle(.tick) == [.complete(tag: 2, nackOutcome(2, "INVALID_JSON"))])
        #expect(story.handle(.tick) == [.close(reason: "drained")])
    }

    /// It may be about something else: the only message's own answer decides.
    @Test func errorWithoutAnIDDoesNotEndTheOnlyMessage() {
        var story = ready()
        _ = story.send(1)
        let report = XMPPSession.Action.report(.strayError("bad-request"))
        #expect(story.handle(XMPPStory.error(id: "", json: "{}")) == [report, .startedDraining])
        #expect(story.handle(XMPPStory.ack(1)) == [.complete(tag: 1, ackOutcome(1))])
    }

    @Test func errorsFewerThanLateMessagesProveNothing() {
        var story = ready()
        for number: UInt64 in 1...2 { _ = story.send(number) }
        _ = story.handle(XMPPStory.error(id: ""))
        story.nowMs = 60_000
        #expect(story.handle(.tick) == [.close(reason: "no ack within 60000 ms")])
    }

    @Test func errorWithoutAMessageIsReported() {
        for id in ["", "m9"] {
            var story = ready()
            if !id.isEmpty { _ = story.send(1) }
            let what = "an error for a message that is not unanswered: bad-request"
            #expect(story.handle(XMPPStory.error(id: id)) == [.report(.unexpected(what))])
            #expect(story.phase == .ready)
        }
    }
}
