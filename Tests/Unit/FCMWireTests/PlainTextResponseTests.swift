import FCMWire
import FanfareModel
import Testing

@Suite struct PlainTextResponseTests {
    static func verdict(_ outcome: RequestOutcome, recipient: String = "T", atMostOnce: Bool = false) -> Verdict {
        PlainTextResponse.verdict(outcome, recipient: recipient, nowMs: responseNow, atMostOnce: atMostOnce)
    }

    static func text(
        _ body: String,
        _ status: Int = 200,
        type: String? = "text/plain; charset=UTF-8",
        retryAfter: String? = nil,
        isComplete: Bool = true
    ) -> Verdict {
        verdict(answer(status, body, type: type, retryAfter: retryAfter, isComplete: isComplete))
    }

    static let accepted: [(String, String, String?)] = [
        ("id=0:14%31bd", "0:14%31bd", nil),
        ("id=0:14%31bd\n", "0:14%31bd", nil),
        ("id=1:2342\r\nregistration_id=U:32\r\n", "1:2342", "U:32"),
        ("id=1\nregistration_id=U", "1", "U"),
        ("registration_id=U\nid=1", "1", "U"),
        // The token that was sent is no canonical id, and neither is what is spelled like none.
        ("id=1\nregistration_id=T", "1", nil),
        ("id=1\nregistration_id=a b", "1", nil),
        ("id=1\nregistration_id=", "1", nil),
        ("id=1\nsomething=else\n\n", "1", nil),
        // Accepted, by an id of no use.
        ("id=", "", nil),
        ("id=a\u{1}b", "", nil),
        ("id=" + String(repeating: "x", count: 300), "", nil),
    ]

    @Test(arguments: accepted)
    func readsWhatWasAccepted(body: String, id: String, canonical: String?) {
        #expect(Self.text(body) == .sent(messageID: id, canonical: canonical))
    }

    @Test(arguments: ["id=1", "id=1\nregistration_id=U"])
    func aContentTypeMayBeMissing(body: String) {
        guard case .sent = Self.text(body, type: nil) else {
            Issue.record("FCM's lines are known by themselves")
            return
        }
    }

    /// A cut line is not believed: the canonical token might be longer.
    @Test func aCanonicalTokenThatWasCutIsNone() {
        let cut = Self.text("id=1\nregistration_id=U", isComplete: false)
        #expect(cut == .sent(messageID: "1", canonical: nil))
    }

    @Test(arguments: [
        ("<html>", "text/html"), ("OK", "text/plain"), ("identity=1", "text/plain"), ("ERROR=x", "text/plain"),
        ("id=1\nError=NotRegistered", "text/plain"), ("Error=", "text/plain"), ("id=1", "application/octet-stream"),
        ("", nil), ("hello", nil), ("", "text/plain"), ("\n", "text/plain"),
    ])
    func foreignAnswerIsUnknown(body: String, type: String?) {
        guard case .retry(let retry) = Self.text(body, type: type) else {
            Issue.record("tried again: \(body)")
            return
        }
        #expect(retry.mayHaveArrived && retry.cause == .unanswered)
        let once = Self.verdict(answer(200, body, type: type), atMostOnce: true)
        guard case .unknown = once else {
            Issue.record("unknown: \(once)")
            return
        }
    }

    @Test func anUnknownCodeIsKeptAndFinal() {
        let failure = Failure(error: .unspecified, action: .none, rawError: "Novelty", httpStatus: 200)
        #expect(Self.text("Error=Novelty\n") == .failed(failure))
    }

    @Test func anAnswerInJSONIsReadAsSuch() {
        let body = #"{"multicast_id":1,"success":0,"failure":1,"results":[{"error":"DeprecatedApi"}]}"#
        guard case .blockProject(let failure) = Self.verdict(answer(200, body)) else {
            Issue.record("the switched-off API says so in JSON")
            return
        }
        #expect(failure.rawError == "DeprecatedApi")
    }

    @Test func serverErrorIsJudgedByItsStatus() {
        guard case .retry(let held) = Self.text("Error=Unavailable", 503, retryAfter: "20"),
            case .retry(let doubtful) = Self.text("", 500, type: nil)
        else {
            Issue.record("both are tried again")
            return
        }
        #expect(held.failure.error == .unavailable && held.failure.rawError == "Unavailable")
        #expect(held.retryAfterMs == 20_000 && held.scope == .recipient && !held.mayHaveArrived)
        #expect(doubtful.mayHaveArrived && doubtful.retryAfterMs == nil)
        let once = Self.verdict(answer(500, "", type: nil), atMostOnce: true)
        guard case .unknown = once else {
            Issue.record("unknown: \(once)")
            return
        }
    }

    @Test func aRetryAfterBesideA200AppliesToWhatIsRetried() {
        guard case .retry(let retry) = Self.text("Error=InternalServerError", retryAfter: "30") else {
            Issue.record("tried again")
            return
        }
        #expect(retry.retryAfterMs == 30_000 && retry.scope == .recipient)
    }

    /// Seeded edits of real bodies: nothing traps, and what names no refusal is never held against the token.
    @Test func noBodyTraps() {
        var generator = ResponseGenerator(seed: 0x7E87)
        let bodies = [
            "id=0:1415%31bd1c9631bd1c96\nregistration_id=U:APA91b\n", "Error=NotRegistered", "Error=Unavailable\r\n",
            "id=1", "", "\u{0}\n\n\n=\n=",
        ]
        for _ in 0..<20_000 {
            let body = Array((bodies.randomElement(using: &generator) ?? "").utf8).mutated(using: &generator)
            let status = [200, 200, 200, 400, 401, 429, 500, 503, 302, 0].randomElement(using: &generator) ?? 200
            let type = ["text/plain", nil, "text/html", "application/json"].randomElement(using: &generator) ?? nil
            let httpAnswer = HTTPAnswer(
                status: status,
                body: body,
                isComplete: Bool.random(using: &generator),
                contentType: type
            )
            let verdict = Self.verdict(.answered(httpAnswer), atMostOnce: Bool.random(using: &generator))
            switch verdict {
            case .failed(let failure):
                #expect(failure.rawError.utf8.count <= RawError.maximumBytes)
                if failure.action == .remove {
                    #expect(String(decoding: body, as: UTF8.self).contains("Error=") || type == "text/plain")
                }
            case .sent(let id, let canonical):
                #expect(status == 200 && id.utf8.count <= 256 && canonical?.contains("\n") != true)
            case .retry, .unknown, .blockProject: break
            case .sentPartly, .managed, .listed, .refreshCredential:
                Issue.record("not a plain-text verdict: \(verdict)")
            }
        }
    }
}
