import FCMWire
import FanfareJSON
import FanfareModel

/// Parsers of answers from FCM and from Google's token endpoint.
extension FuzzTarget {
    private static let bodies = [
        #"{"name":"projects/p/messages/0:1500415314455276%31bd1c9631bd1c96"}"#,
        #"{"error":{"code":404,"message":"m","status":"NOT_FOUND","details":[{"@type":"type.googleapis.com/google."#
            + #"firebase.fcm.v1.FcmError","errorCode":"UNREGISTERED"},{"@type":"type.googleapis.com/google.rpc."#
            + #"BadRequest","fieldViolations":[{"field":"message.token"}]}]}}"#,
        #"{"multicast_id":216,"success":1,"results":[{"message_id":"1","registration_id":"32"},{"error":"Unavailable"}]}"#,
        #"{"success":1,"failure":2,"failed_registration_ids":["r1","r2"]}"#, #"{"message_id":6538123456789}"#,
        "id=1:0408\nregistration_id=r", "Error=DeviceMessageRateExceeded", "<html></html>",
        #"{"results":[{},{"error":"NOT_FOUND"}]}"#, #"{"notification_key":"k"}"#,
        #"{"error":"notification_key not found"}"#,
    ]

    static let json = FuzzTarget(name: "json", seeds: bodies + [#"[1e999,"\ud83d\ude00",-0.0,null]"#, "[[[["]) {
        bytes in
        guard let value = try? JSONParser.parse(bytes, limits: JSONLimits()) else { return }
        let text = value.jsonBytes
        check((try? JSONParser.parse(text, limits: JSONLimits())) == value, "a written value is read back")
    }

    static let date = FuzzTarget(
        name: "date",
        seeds: [
            "Sun, 06 Nov 1994 08:49:37 GMT", "120", " 5 ", "Tue, 29 Feb 2000 23:59:60 GMT", "\"1.5\", 7",
            "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
        ]
    ) { bytes in
        let text = String(decoding: bytes, as: UTF8.self)
        _ = HTTPDate.milliseconds(bytes)
        _ = RetryAfterParser.read(duration: text)
        for now in [0, 1_700_000_000_000, Int64.max, Int64.min] {
            for date in [nil, "Sun, 06 Nov 1994 08:49:37 GMT", text] {
                _ = HTTPDate.milliseconds(bytes, nowMs: now)
                guard let wait = RetryAfterParser.read(text, date: date, nowMs: now).leastMs else { continue }
                check((1...RetryAfterParser.maximumMs).contains(wait), "\(wait) is outside the allowed waits")
            }
        }
    }

    /// The first byte selects status, content type and completeness; the rest is the body.
    private static func answer(_ bytes: [UInt8]) -> HTTPAnswer {
        let choice = Int(bytes.first ?? 0)
        let statuses = [200, 200, 400, 401, 403, 404, 409, 429, 500, 503, 201, 302, 599, 0, Int.max, Int.min]
        let types = ["application/json", "text/plain", "text/html", nil]
        return HTTPAnswer(
            status: statuses[choice % 16],
            body: Array(bytes.dropFirst()),
            isComplete: choice < 192,
            contentType: types[choice / 16 % 4],
            retryAfter: choice % 3 == 0 ? "5" : nil
        )
    }

    static let response = FuzzTarget(name: "response", seeds: bodies.flatMap { ["\u{0}" + $0, "\u{7}" + $0] }) {
        bytes in
        let outcome = RequestOutcome.answered(answer(bytes))
        let tokens = (0..<Int(bytes.count % 4)).map { "t\($0)" }
        for atMostOnce in [false, true] {
            for kind in RecipientKind.allCases {
                judge(V1Response.verdict(outcome, kind: kind, nowMs: 0, atMostOnce: atMostOnce), atMostOnce)
                let all = LegacyResponse.verdicts(
                    outcome,
                    recipients: tokens,
                    kind: kind,
                    nowMs: 0,
                    atMostOnce: atMostOnce
                )
                check(all.count == tokens.count, "one verdict for each recipient")
                for verdict in all { judge(verdict, atMostOnce) }
                let stanza = RequestOutcome.stanza(Array(bytes.dropFirst()))
                judge(
                    XMPPResponse.verdict(stanza, kind: kind, recipient: "t", nowMs: 0, atMostOnce: atMostOnce),
                    atMostOnce
                )
            }
            judge(
                PlainTextResponse.verdict(outcome, recipient: "t", nowMs: 0, atMostOnce: atMostOnce),
                atMostOnce
            )
        }
    }

    private static func judge(_ verdict: Verdict, _ atMostOnce: Bool) {
        switch verdict {
        case .retry(let retry):
            check(!(atMostOnce && retry.mayHaveArrived), "an unknown outcome is not sent again")
            check(retry.floorMs >= 10_000, "a retry waits")
            bounded(retry.failure)
        case .failed(let failure), .refreshCredential(let failure), .blockProject(let failure): bounded(failure)
        case .unknown: check(atMostOnce, "unknown is final with at_most_once only")
        case .sent, .sentPartly, .managed, .listed: break
        }
    }

    private static func bounded(_ failure: Failure) {
        check(failure.rawError.utf8.count <= RawError.maximumBytes, "a peer's error text is truncated")
        let isClean = failure.rawError.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
        check(isClean, "a peer's error text contains no control character")
    }

    static let management = FuzzTarget(name: "management", seeds: bodies.map { "\u{0}" + $0 }) { bytes in
        let outcome = RequestOutcome.answered(answer(bytes))
        let tokens = ["a", "b"]
        check(
            TopicBatch.verdicts(outcome, tokens: tokens, nowMs: 0).count == tokens.count,
            "one verdict for each token"
        )
        for operation in Operation.allCases {
            _ = GroupOperation.verdict(outcome, op: operation, key: "k", nowMs: 0)
            _ = TopicSubscription.verdict(outcome, op: operation, nowMs: 0)
        }
    }

    static let tokenResponse = FuzzTarget(
        name: "token",
        seeds: [
            "\u{0}" + #"{"access_token":"ya29.c","expires_in":3599,"token_type":"Bearer"}"#,
            "\u{2}" + #"{"error":"invalid_grant","error_description":"Invalid JWT"}"#,
        ]
    ) { bytes in
        guard case .success(let token) = TokenRequest.parse(answer(bytes)) else { return }
        check(token.value.utf8.allSatisfy { (0x21...0x7E).contains($0) }, "a token fits into a header")
        check((0...86_400_000).contains(token.lifetimeMs), "\(token.lifetimeMs) is outside the allowed lifetimes")
    }
}
