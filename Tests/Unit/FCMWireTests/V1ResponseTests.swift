import FCMWire
import FanfareModel
import Testing

private func verdict(
    _ outcome: RequestOutcome,
    kind: RecipientKind = .token,
    atMostOnce: Bool = false
) -> Verdict {
    V1Response.verdict(outcome, kind: kind, nowMs: responseNow, atMostOnce: atMostOnce)
}

@Suite struct V1ResponseTests {
    // MARK: final errors

    struct Final: Sendable {
        var outcome: RequestOutcome
        var error: ErrorCode
        var action: RemedyAction
        var raw: String
    }

    static let finals: [Final] = [
        Final(
            outcome: answer(
                404,
                V1Body.envelope(404, "NOT_FOUND", "Requested entity was not found.", V1Body.fcmError("UNREGISTERED"))
            ),
            error: .unregistered,
            action: .remove,
            raw: "UNREGISTERED"
        ),
        Final(
            outcome: answer(
                404,
                V1Body.envelope(404, "NOT_FOUND", "m", V1Body.apns410, V1Body.fcmError("UNREGISTERED"))
            ),
            error: .unregistered,
            action: .remove,
            raw: "UNREGISTERED: Unregistered"
        ),
        Final(
            outcome: answer(
                400,
                V1Body.envelope(400, "INVALID_ARGUMENT", "m", V1Body.fcmError("INVALID_ARGUMENT"), V1Body.apns410)
            ),
            error: .unregistered,
            action: .remove,
            raw: "INVALID_ARGUMENT: Unregistered"
        ),
        Final(
            outcome: answer(
                400,
                V1Body.envelope(
                    400,
                    "INVALID_ARGUMENT",
                    "The registration token is not a valid FCM registration token",
                    V1Body.fcmError("INVALID_ARGUMENT")
                )
            ),
            error: .invalidArgument,
            action: .remove,
            raw: "INVALID_ARGUMENT"
        ),
        Final(
            outcome: answer(
                400,
                V1Body.envelope(
                    400,
                    "INVALID_ARGUMENT",
                    "m",
                    V1Body.badRequest("message.token"),
                    V1Body.fcmError("INVALID_ARGUMENT")
                )
            ),
            error: .invalidArgument,
            action: .remove,
            raw: "INVALID_ARGUMENT: message.token"
        ),
        Final(
            outcome: answer(400, V1Body.envelope(400, "INVALID_ARGUMENT", "m", V1Body.badRequest("message.fid"))),
            error: .invalidArgument,
            action: .remove,
            raw: "INVALID_ARGUMENT: message.fid"
        ),
        Final(
            outcome: answer(
                400,
                V1Body.envelope(
                    400,
                    "INVALID_ARGUMENT",
                    "Recipient of the message is not set.",
                    V1Body.badRequest("message")
                )
            ),
            error: .invalidArgument,
            action: .fixMessage,
            raw: "INVALID_ARGUMENT: message"
        ),
        Final(
            outcome: answer(
                400,
                V1Body.envelope(400, "INVALID_ARGUMENT", "m", V1Body.badRequest("message.data[0].value"))
            ),
            error: .invalidArgument,
            action: .fixMessage,
            raw: "INVALID_ARGUMENT: message.data[0].value"
        ),
        Final(
            outcome: answer(400, V1Body.envelope(400, "INVALID_ARGUMENT", "m", V1Body.fcmError("INVALID_ARGUMENT"))),
            error: .invalidArgument,
            action: .fixMessage,
            raw: "INVALID_ARGUMENT"
        ),
        Final(
            outcome: answer(
                400,
                V1Body.envelope(400, "INVALID_ARGUMENT", "m", V1Body.fcmError("INVALID_ARGUMENT"), V1Body.apns403)
            ),
            error: .invalidArgument,
            action: .fixMessage,
            raw: "INVALID_ARGUMENT: InvalidProviderToken"
        ),
        Final(
            outcome: answer(
                403,
                V1Body.envelope(403, "PERMISSION_DENIED", "SenderId mismatch", V1Body.fcmError("SENDER_ID_MISMATCH"))
            ),
            error: .senderIDMismatch,
            action: .fixCredentials,
            raw: "SENDER_ID_MISMATCH"
        ),
        Final(
            outcome: answer(
                401,
                V1Body.envelope(401, "UNAUTHENTICATED", "m", V1Body.apns403, V1Body.fcmError("THIRD_PARTY_AUTH_ERROR"))
            ),
            error: .thirdPartyAuthError,
            action: .fixCredentials,
            raw: "THIRD_PARTY_AUTH_ERROR: InvalidProviderToken"
        ),
        Final(
            outcome: answer(401, V1Body.envelope(401, "UNAUTHENTICATED", "m", V1Body.fcmError("APNS_AUTH_ERROR"))),
            error: .thirdPartyAuthError,
            action: .fixCredentials,
            raw: "APNS_AUTH_ERROR"
        ),
        // Unknown codes are kept, not retried.
        Final(
            outcome: answer(404, V1Body.envelope(404, "NOT_FOUND", "m", V1Body.fcmError("BRAND_NEW"))),
            error: .unspecified,
            action: .none,
            raw: "BRAND_NEW"
        ),
        Final(
            outcome: answer(409, V1Body.envelope(409, "ABORTED")),
            error: .unspecified,
            action: .none,
            raw: "ABORTED"
        ),
    ]

    @Test(arguments: finals)
    func endsAtOnce(_ row: Final) throws {
        guard case .answered(let answered) = row.outcome else { return }
        for atMostOnce in [false, true] {
            #expect(
                verdict(row.outcome, atMostOnce: atMostOnce)
                    == .failed(
                        Failure(error: row.error, action: row.action, rawError: row.raw, httpStatus: answered.status)
                    )
            )
        }
    }

    @Test(arguments: [RecipientKind.topic, .condition])
    func aTopicIsNeverABadToken(kind: RecipientKind) {
        let text = "The registration token is not a valid FCM registration token"
        let outcome = answer(400, V1Body.envelope(400, "INVALID_ARGUMENT", text, V1Body.fcmError("INVALID_ARGUMENT")))
        guard case .failed(let failure) = verdict(outcome, kind: kind) else {
            Issue.record("not final")
            return
        }
        #expect(failure.action == .fixMessage)
    }

    // MARK: success

    /// Results wait in memory and in Redis, so no id is longer than any of FCM's.
    @Test(arguments: ["", #","other":1"#])
    func nameIsLeftEmptyBeyondItsLimit(rest: String) {
        for (length, isKept) in [(1_024, true), (1_025, false)] {
            let name = String(repeating: "n", count: length)
            let outcome = answer(200, #"{"name":"\#(name)"\#(rest)}"#)
            #expect(verdict(outcome) == .sent(messageID: isKept ? name : "", canonical: nil))
        }
    }

    @Test func takesTheName() {
        let outcome = answer(200, #"{"name":"projects/p/messages/0:15%31"}"#)
        #expect(verdict(outcome) == .sent(messageID: "projects/p/messages/0:15%31", canonical: nil))
    }

    @Test(arguments: [
        "", "{", #"{"name":"proj"#, "{}", "[]", "null", #"{"name":5}"#, #"{"name":"a"} x"#, "<html>", "\u{0}",
    ])
    func aLostBodyStillCountsAsSent(body: String) {
        for atMostOnce in [false, true] {
            #expect(verdict(answer(200, body), atMostOnce: atMostOnce) == .sent(messageID: "", canonical: nil))
        }
    }

    @Test func aCutBodyIsNotBelievedEvenIfItParses() {
        let outcome = answer(200, #"{"name":"projects/p/messages/1"}"#, isComplete: false)
        #expect(verdict(outcome) == .sent(messageID: "", canonical: nil))
    }

    @Test(
        arguments: [
            (200, "<html>Log in</html>", "text/html"), (200, #"{"name":"x"}"#, "text/plain"), (200, "", "text/html"),
            (200, "<html>", nil), (200, "", nil), (204, "", "application/json"), (302, "", "text/html"), (304, "", nil),
            (0, "", nil), (101, "", nil), (600, "", nil), (-1, "", nil), (Int.max, "", nil),
        ] as [(Int, String, String?)]
    )
    func foreignAnswerIsUnknown(status: Int, body: String, type: String?) {
        guard case .retry(let retry) = verdict(answer(status, body, type: type)) else {
            Issue.record("not retried")
            return
        }
        #expect(retry.mayHaveArrived && retry.cause == .unanswered && retry.countsAttempt && retry.floorMs == 10_000)
        guard case .unknown(let failure, nil) = verdict(answer(status, body, type: type), atMostOnce: true) else {
            Issue.record("not unknown")
            return
        }
        #expect(failure.httpStatus == status)
    }

    @Test func withoutAContentTypeTheBodyTells() {
        #expect(verdict(answer(200, #" {"name":"n"}"#, type: nil)) == .sent(messageID: "n", canonical: nil))
        #expect(verdict(answer(200, #"{"name":"#, type: nil)) == .sent(messageID: "", canonical: nil))
        #expect(verdict(answer(200, "", type: nil, isComplete: false)) == .sent(messageID: "", canonical: nil))
        #expect(
            verdict(answer(200, #"{"name":"n"}"#, type: "Application/JSON")) == .sent(messageID: "n", canonical: nil)
        )
    }

    // MARK: credentials and project

    @Test(arguments: [
        V1Body.envelope(401, "UNAUTHENTICATED", "m", V1Body.errorInfo("ACCESS_TOKEN_EXPIRED")),
        V1Body.envelope(401, "UNAUTHENTICATED", "Request is missing required authentication credential"),
    ])
    func another401RefreshesTheToken(body: String) {
        guard case .refreshCredential(let failure) = verdict(answer(401, body)) else {
            Issue.record("no refresh")
            return
        }
        #expect(failure.httpStatus == 401)
    }

    @Test(arguments: [
        (403, V1Body.envelope(403, "PERMISSION_DENIED", "Permission denied on resource"), "PERMISSION_DENIED"),
        (403, V1Body.envelope(403, "PERMISSION_DENIED", "m", V1Body.errorInfo("SERVICE_DISABLED")), "SERVICE_DISABLED"),
        (404, V1Body.envelope(404, "NOT_FOUND"), "NOT_FOUND"),
        (404, V1Body.envelope(404, "NOT_FOUND", "m", V1Body.fcmError("UNSPECIFIED_ERROR")), "NOT_FOUND"),
    ])
    func blocksTheProjectAndNoToken(status: Int, body: String, raw: String) {
        guard case .blockProject(let failure) = verdict(answer(status, body)) else {
            Issue.record("not blocked")
            return
        }
        #expect(failure.httpStatus == status && failure.rawError == raw)
    }

    // MARK: no answer, odd answers

    @Test func unsentRequestCostsNoAttempt() {
        for atMostOnce in [false, true] {
            guard case .retry(let unsent) = verdict(.unsent(reason: "refused\r\n"), atMostOnce: atMostOnce),
                case .retry(let refused) = verdict(.refused(reason: "REFUSED_STREAM"), atMostOnce: atMostOnce)
            else {
                Issue.record("not retried")
                return
            }
            #expect(!unsent.countsAttempt && !unsent.mayHaveArrived && unsent.cause == .unsent)
            #expect(unsent.failure == Failure(error: .transport, action: .none, rawError: "refused"))
            #expect(refused.countsAttempt && !refused.mayHaveArrived && refused.cause == .refused)
        }
    }

    @Test func lostAnswerIsAmbiguous() {
        guard case .retry(let retry) = verdict(.ambiguous(reason: "reset")) else {
            Issue.record("not retried")
            return
        }
        #expect(retry.mayHaveArrived && retry.cause == .unanswered && retry.floorMs == 10_000)
        guard case .unknown = verdict(.ambiguous(reason: "reset"), atMostOnce: true) else {
            Issue.record("sent again")
            return
        }
    }

    @Test func theRawErrorIsCleanAndBounded() {
        let long = String(repeating: "x", count: 5_000)
        guard
            case .failed(let failure) = verdict(
                answer(400, V1Body.envelope(400, "INVALID", "m", V1Body.fcmError("A\\r\\nB\\u0000" + long)))
            )
        else {
            Issue.record("not final")
            return
        }
        #expect(failure.rawError.hasPrefix("A??B?xxx") && failure.rawError.utf8.count == RawError.maximumBytes)
    }

    @Test func detailsOfWrongTypesAreAbsent() {
        let details = [
            "5", "null", "{}", #"{"@type":5}"#,
            #"{"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":7}"#,
            #"{"@type":"google.firebase.fcm.v1.ApnsError","statusCode":1e99}"#,
            #"{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":{}}"#,
            V1Body.fcmError("UNREGISTERED"),
        ]
        let body = #"{"error":{"status":[],"message":{},"details":["# + details.joined(separator: ",") + "]}}"
        guard case .failed(let failure) = verdict(answer(404, body)) else {
            Issue.record("not final")
            return
        }
        #expect(failure.error == .unregistered)
    }
}
