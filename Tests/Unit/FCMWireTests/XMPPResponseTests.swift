import FCMWire
import FanfareModel
import Testing

@Suite struct XMPPResponseTests {
    static func verdict(
        _ json: String,
        kind: RecipientKind = .token,
        recipient: String = "T",
        atMostOnce: Bool = false
    ) -> Verdict {
        XMPPResponse.verdict(
            .stanza(Array(json.utf8)),
            kind: kind,
            recipient: recipient,
            nowMs: responseNow,
            atMostOnce: atMostOnce
        )
    }

    static func nack(_ members: String) -> String {
        #"{"from":"T","message_id":"j/0/1/0","message_type":"nack"\#(members)}"#
    }

    static let acks: [(String, Verdict)] = [
        (#"{"from":"T","message_id":"j/0/1/0","message_type":"ack"}"#, .sent(messageID: "j/0/1/0", canonical: nil)),
        (
            #"{"from":"T","message_id":"m","message_type":"ack","registration_id":"U"}"#,
            .sent(messageID: "m", canonical: "U")
        ),
        (
            #"{"from":"T","message_id":"m","message_type":"ack","registration_id":"T"}"#,
            .sent(messageID: "m", canonical: nil)
        ),
        (
            #"{"message_id":"m","message_type":"ack","registration_id":"no token","error":null}"#,
            .sent(messageID: "m", canonical: nil)
        ),
        // Of a message whose connection knows it, the type is enough.
        (#"{"message_type":"ack"}"#, .sent(messageID: "", canonical: nil)),
        (#"{"message_type":"ack","message_id":["m"]}"#, .sent(messageID: "", canonical: nil)),
        // Counts speak of a group only.
        (#"{"message_type":"ack","message_id":"m","success":0,"failure":0}"#, .sent(messageID: "m", canonical: nil)),
    ]

    @Test(arguments: acks)
    func anAckIsAcceptance(json: String, expected: Verdict) {
        #expect(Self.verdict(json) == expected)
    }

    static let emptyGroup = Verdict.failed(Failure(error: .emptyGroup, action: .none))

    @Test(arguments: [
        (#""success":2,"failure":0"#, Verdict.sent(messageID: "m", canonical: nil)),
        (
            #""success":1,"failure":2,"failed_registration_ids":["a","b"]"#,
            .sentPartly(messageID: "m", failedTokens: ["a", "b"])
        ),
        (#""success":0,"failure":0"#, emptyGroup),
        ("\"x\":1", .sent(messageID: "m", canonical: nil)),
        (#""success":-1,"failure":0"#, .sent(messageID: "m", canonical: nil)),
    ])
    func aGroupsCountsDecide(counts: String, expected: Verdict) {
        let json = #"{"from":"K","message_id":"m","message_type":"ack",\#(counts)}"#
        #expect(Self.verdict(json, kind: .group, recipient: "K") == expected)
    }

    @Test func aGroupOfWhichNobodyGotItIsTriedAgain() {
        let json = #"{"message_id":"m","message_type":"ack","success":0,"failure":2}"#
        guard case .retry(let retry) = Self.verdict(json, kind: .group) else {
            Issue.record("tried again")
            return
        }
        #expect(retry.failure.error == .unavailable && !retry.mayHaveArrived && retry.countsAttempt)
    }

    @Test func aNackKeepsItsCodeAndNotItsWords() {
        let json = Self.nack(#","error":"BAD_REGISTRATION","error_description":"Invalid token on 'to' field: T""#)
        let failure = Failure(error: .invalidArgument, action: .remove, rawError: "BAD_REGISTRATION")
        #expect(Self.verdict(json) == .failed(failure))
    }

    @Test func drainingCostsNoAttempt() {
        guard case .retry(let retry) = Self.verdict(Self.nack(#","error":"CONNECTION_DRAINING""#)) else {
            Issue.record("sent again")
            return
        }
        #expect(!retry.countsAttempt && !retry.mayHaveArrived && retry.floorMs == 0 && retry.cause == .refused)
    }

    @Test func anUnknownCodeIsFinalAndOneThatIsMissingIsNot() {
        let novelty = Failure(error: .unspecified, action: .none, rawError: "NOVELTY")
        #expect(Self.verdict(Self.nack(#","error":"NOVELTY""#)) == .failed(novelty))
        for members in ["", #","error":null"#, #","error":"""#, #","error":{"code":1}"#] {
            guard case .retry(let retry) = Self.verdict(Self.nack(members), atMostOnce: true) else {
                Issue.record("refused for no reason, tried again: \(members)")
                continue
            }
            #expect(!retry.mayHaveArrived && retry.floorMs == 10_000)
        }
    }

    /// It speaks of an acknowledgement of ours: whatever came of the message, nobody said.
    @Test func aBadAckTouchesNoRecipient() {
        guard case .retry(let retry) = Self.verdict(Self.nack(#","error":"BAD_ACK""#)) else {
            Issue.record("not held against the recipient")
            return
        }
        #expect(retry.mayHaveArrived)
    }

    @Test(arguments: [
        "", "{", "null", "[]", "\"ack\"", "{}", #"{"message_type":"receipt"}"#, #"{"message_type":1}"#,
        #"{"message_type":"ACK","message_id":"m"}"#, #"{"message_type":"ack","error":"X"}"#,
        #"{"message_type":"ack","error":7}"#, "\u{FEFF}{}",
        String(repeating: "[", count: 100_000),
        #"{"message_type":"ack","x":"# + String(repeating: "1", count: 70_000) + "}",
    ])
    func stanzaThatIsNoAckIsAmbiguous(json: String) {
        guard case .retry(let retry) = Self.verdict(json) else {
            Issue.record("an unknown outcome")
            return
        }
        #expect(retry.mayHaveArrived && retry.cause == .unanswered)
        guard case .unknown = Self.verdict(json, atMostOnce: true) else {
            Issue.record("not sent again")
            return
        }
    }

    /// A connection that ended takes its unanswered messages with it: resent, or unknown where once is the most.
    @Test func withoutAnAnswerTheClassDecides() {
        func verdict(_ outcome: RequestOutcome, _ atMostOnce: Bool) -> Verdict {
            XMPPResponse.verdict(outcome, kind: .token, recipient: "T", nowMs: 0, atMostOnce: atMostOnce)
        }
        guard case .retry(let lost) = verdict(.ambiguous(reason: "closed"), false),
            case .unknown = verdict(.ambiguous(reason: "closed"), true),
            case .retry(let unsent) = verdict(.unsent(reason: "no connection"), true),
            case .retry(let refused) = verdict(.refused(reason: "draining"), true)
        else {
            Issue.record("by what is proved")
            return
        }
        #expect(lost.mayHaveArrived && !unsent.mayHaveArrived && !refused.mayHaveArrived)
        #expect(!unsent.countsAttempt)
    }

    @Test func noJSONTraps() {
        var generator = ResponseGenerator(seed: 0xACC)
        let bodies =
            Self.acks.map(\.0) + [
                Self.nack(#","error":"DEVICE_UNREGISTERED""#),
                #"{"message_type":"ack","success":1,"failure":2,"failed_registration_ids":["a","b"]}"#,
            ]
        for _ in 0..<10_000 {
            let body = Array((bodies.randomElement(using: &generator) ?? "").utf8).mutated(using: &generator)
            let kind = RecipientKind.allCases.randomElement(using: &generator) ?? .token
            let verdict = XMPPResponse.verdict(
                .stanza(body),
                kind: kind,
                recipient: "T",
                nowMs: responseNow,
                atMostOnce: Bool.random(using: &generator)
            )
            switch verdict {
            case .managed, .listed, .refreshCredential: Issue.record("not an XMPP verdict: \(verdict)")
            case .failed(let failure): #expect(failure.rawError.utf8.count <= RawError.maximumBytes)
            case .sentPartly: #expect(kind == .group)
            case .sent, .unknown, .retry, .blockProject: break
            }
        }
    }
}
