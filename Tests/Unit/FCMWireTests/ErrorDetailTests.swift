import FCMWire
import FanfareModel
import Testing

/// What FCM's details add to a result: Apple's reason, the fields, the quota, and a wait.
@Suite struct ErrorDetailTests {
    private static func failure(_ status: Int, _ body: String, kind: RecipientKind = .token) -> Failure? {
        let outcome = answer(status, body)
        switch V1Response.verdict(outcome, kind: kind, nowMs: responseNow, atMostOnce: false) {
        case .failed(let failure), .refreshCredential(let failure), .blockProject(let failure): return failure
        case .retry(let retry): return retry.failure
        case .sent, .sentPartly, .managed, .listed, .unknown: return nil
        }
    }

    private static let invalid = V1Body.fcmError("INVALID_ARGUMENT")

    @Test(
        arguments: [
            (400, "BadDeviceToken", .invalidArgument, .remove),
            (400, "DeviceTokenNotForTopic", .senderIDMismatch, .fixCredentials),
            (400, "BadExpirationDate", .invalidArgument, .fixMessage),
            (413, "PayloadTooLarge", .invalidArgument, .fixMessage),
            (403, "BadDeviceToken", .invalidArgument, .fixMessage), (410, "ExpiredToken", .unregistered, .remove),
        ] as [(Int, String, ErrorCode, RemedyAction)]
    )
    func appleReasonDecidesAndIsKept(status: Int, reason: String, error: ErrorCode, action: RemedyAction) {
        let raw = "INVALID_ARGUMENT: \(reason)"
        for details in [[Self.invalid, V1Body.apns(status, reason)], [V1Body.apns(status, reason), Self.invalid]] {
            let body = V1Body.envelope(400, "INVALID_ARGUMENT", "m", details[0], details[1])
            let expected = Failure(error: error, action: action, rawError: raw, httpStatus: 400)
            #expect(Self.failure(400, body) == expected)
        }
        // FcmError may be missing.
        #expect(
            Self.failure(400, V1Body.envelope(400, "INVALID_ARGUMENT", "m", V1Body.apns(status, reason)))?.error
                == error
        )
    }

    @Test(arguments: [RecipientKind.topic, .condition]) func topicIsNoDevice(kind: RecipientKind) {
        let body = V1Body.envelope(400, "INVALID_ARGUMENT", "m", Self.invalid, V1Body.apns(400, "BadDeviceToken"))
        #expect(Self.failure(400, body, kind: kind)?.action == .fixMessage)
    }

    @Test func fieldsAreNamedUpToThree() {
        let fields = ["a", "b", "c", "d"].map { #"{"field":"message.\#($0)"}"# }.joined(separator: ",")
        let detail = #"{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[\#(fields)]}"#
        let body = V1Body.envelope(400, "INVALID_ARGUMENT", "m", detail)
        #expect(Self.failure(400, body)?.rawError == "INVALID_ARGUMENT: message.a, message.b, message.c")
        #expect(
            Self.failure(400, V1Body.envelope(400, "INVALID_ARGUMENT", "m", V1Body.badRequest("message.android.ttl")))?
                .rawError == "INVALID_ARGUMENT: message.android.ttl"
        )
    }

    /// The subject of a quota may be a token, which belongs into no log.
    @Test func quotaIsNamedAndItsSubjectIsNot() {
        let quota =
            #"{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"subject":"token:SECRET","description":"Device rate"}]}"#
        let device = V1Body.envelope(429, "RESOURCE_EXHAUSTED", "m", V1Body.fcmError("QUOTA_EXCEEDED"), quota)
        #expect(Self.failure(429, device)?.rawError == "QUOTA_EXCEEDED: Device rate")
        let info =
            #"{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"RATE_LIMIT_EXCEEDED","metadata":{"quota_limit":"SendsPerMinutePerProject"}}"#
        let project = V1Body.envelope(429, "RESOURCE_EXHAUSTED", "m", info)
        #expect(Self.failure(429, project)?.rawError == "RATE_LIMIT_EXCEEDED: SendsPerMinutePerProject")
    }

    @Test func hostileDetailIsCleanAndShort() throws {
        let reason = "X\\u0000\\n" + String(repeating: "y", count: 5_000)
        let body = V1Body.envelope(
            401,
            "UNAUTHENTICATED",
            "m",
            V1Body.fcmError("THIRD_PARTY_AUTH_ERROR"),
            V1Body.apns(403, reason)
        )
        let raw = try #require(Self.failure(401, body)).rawError
        #expect(raw.hasPrefix("THIRD_PARTY_AUTH_ERROR: X??yyy") && raw.utf8.count == RawError.maximumBytes)
    }

    // MARK: waits

    private static func retry(_ status: Int, _ detail: String, retryAfter: String? = nil) -> Retry? {
        let outcome = answer(status, V1Body.envelope(status, "UNAVAILABLE", "m", detail), retryAfter: retryAfter)
        guard
            case .retry(let retry) = V1Response.verdict(outcome, kind: .token, nowMs: responseNow, atMostOnce: false)
        else { return nil }
        return retry
    }

    @Test func longerOfRetryAfterAndRetryInfoCounts() throws {
        for status in [429, 500, 503] {
            #expect(Self.retry(status, V1Body.retryInfo(#""30.5s""#))?.retryAfterMs == 31_000)
            #expect(Self.retry(status, V1Body.retryInfo(#""30s""#), retryAfter: "20")?.retryAfterMs == 30_000)
            #expect(Self.retry(status, V1Body.retryInfo(#""30s""#), retryAfter: "40")?.retryAfterMs == 40_000)
            for broken in [#""soon""#, "5", "null", #"{"seconds":5}"#] {
                let retry = try #require(Self.retry(status, V1Body.retryInfo(broken)))
                #expect(retry.retryAfterMs == nil && retry.floorMs == 60_000, "\(status) \(broken)")
            }
        }
        // Only the header says that a 503 was not processed.
        #expect(Self.retry(503, V1Body.retryInfo(#""30s""#))?.mayHaveArrived == true)
    }

    /// A wait that cannot be read is a minute, and no proof that a 503 was not processed.
    @Test(arguments: ["soon", "-1", "", "5, later"]) func unreadableRetryAfterWaitsAMinute(value: String) throws {
        let outcomes = [
            answer(500, V1Body.envelope(500, "INTERNAL"), retryAfter: value),
            answer(503, V1Body.envelope(503, "UNAVAILABLE"), retryAfter: value),
            answer(403, "<html>", type: "text/html", retryAfter: value),
            answer(499, "<html>", type: "text/html", retryAfter: value),
            answer(429, V1Body.envelope(429, "RESOURCE_EXHAUSTED"), retryAfter: value),
        ]
        for outcome in outcomes {
            let verdict = V1Response.verdict(outcome, kind: .token, nowMs: responseNow, atMostOnce: false)
            guard case .retry(let retry) = verdict, case .answered(let answered) = outcome else {
                Issue.record("\(verdict)")
                continue
            }
            #expect(retry.floorMs == 60_000 && retry.retryAfterMs == nil)
            #expect(retry.mayHaveArrived == ![403, 429].contains(answered.status))
        }
        let body = #"{"multicast_id":1,"success":0,"failure":1,"canonical_ids":0,"results":[{"error":"Unavailable"}]}"#
        let beside = LegacyResponse.verdicts(
            answer(200, body, retryAfter: value),
            recipients: ["t"],
            kind: .token,
            nowMs: responseNow,
            atMostOnce: false
        )
        guard case .retry(let retry)? = beside.first else {
            Issue.record("\(beside)")
            return
        }
        #expect(retry.floorMs == 60_000 && !retry.mayHaveArrived)
    }
}

/// The content type decides what a 200 is; it may be spelled and repeated in every way that HTTP allows.
@Suite struct ContentTypeTests {
    @Test(
        arguments: [
            ("application/json", true), ("Application/JSON ; charset=\"utf-8\"", true), ("application/json;", true),
            ("application/json, application/json; charset=utf-8", true), ("application/json, text/html", false),
            ("text/html, application/json", false), ("application/jsonp", false), ("application/problem+json", false),
            ("", false), (",", false), ("application", false), ("text/json", false),
        ]
    )
    func everyTypeMustBeJSON(type: String, isJSON: Bool) {
        let outcome = answer(200, #"{"name":"n"}"#, type: type)
        let verdict = V1Response.verdict(outcome, kind: .token, nowMs: responseNow, atMostOnce: true)
        #expect((verdict == .sent(messageID: "n", canonical: nil)) == isJSON, "\(type): \(verdict)")
    }

    @Test(arguments: [("TEXT/plain;charset=x, text/plain", true), ("text/plain, text/html", false)])
    func everyTypeOfPlainTextMustBeText(type: String, isText: Bool) {
        let outcome = answer(200, "id=1", type: type)
        let verdict = PlainTextResponse.verdict(outcome, recipient: "t", nowMs: responseNow, atMostOnce: true)
        #expect((verdict == .sent(messageID: "1", canonical: nil)) == isText)
    }
}
