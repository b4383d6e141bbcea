import FCMWire
import FanfareModel
import Testing

private let pair = ["token-a", "token-b"]

private func verdicts(
    _ outcome: RequestOutcome,
    _ recipients: [String] = pair,
    kind: RecipientKind = .token,
    atMostOnce: Bool = false
) -> [Verdict] {
    Array(
        LegacyResponse.verdicts(
            outcome,
            recipients: recipients,
            kind: kind,
            nowMs: responseNow,
            atMostOnce: atMostOnce
        )
    )
}

private func failure(_ code: String, _ status: Int = 200) throws -> Failure {
    try #require(CodeTable.row(.legacy, code)).failure(rawError: code, httpStatus: status)
}

@Suite struct LegacyResponseTests {
    @Test func theDocumentedExampleMapsByIndex() throws {
        let body = """
            {"multicast_id":7497838685051704056,"success":3,"failure":3,"canonical_ids":1,"results":[
             {"message_id":"1:0408"},{"error":"Unavailable"},{"error":"InvalidRegistration"},
             {"message_id":"1:1516"},{"message_id":"1:2342","registration_id":"32"},{"error":"NotRegistered"}]}
            """
        let tokens = ["a", "b", "c", "d", "e", "f"]
        let expected: [Verdict] = [
            .sent(messageID: "1:0408", canonical: nil),
            .retry(Retry(failure: try failure("Unavailable"))),
            .failed(
                Failure(error: .invalidArgument, action: .remove, rawError: "InvalidRegistration", httpStatus: 200)
            ),
            .sent(messageID: "1:1516", canonical: nil),
            .sent(messageID: "1:2342", canonical: "32"),
            .failed(Failure(error: .unregistered, action: .remove, rawError: "NotRegistered", httpStatus: 200)),
        ]
        #expect(verdicts(answer(200, body), tokens) == expected)
        #expect(verdicts(answer(200, body), tokens, atMostOnce: true) == expected)
    }

    @Test(arguments: [
        ("NotRegistered", ErrorCode.unregistered, RemedyAction.remove),
        ("InvalidRegistration", .invalidArgument, .remove),
        ("MissingRegistration", .invalidArgument, .fixMessage),
        ("MessageTooBig", .invalidArgument, .fixMessage),
        ("InvalidDataKey", .invalidArgument, .fixMessage),
        ("InvalidTtl", .invalidArgument, .fixMessage),
        ("InvalidParameters", .invalidArgument, .fixMessage),
        ("InvalidPackageName", .invalidArgument, .fixMessage),
        ("MismatchSenderId", .senderIDMismatch, .fixCredentials),
        ("InvalidApnsCredential", .thirdPartyAuthError, .fixCredentials),
        ("SomethingNew", .unspecified, .none),
        ("notregistered", .unspecified, .none),
    ])
    func finalCodes(code: String, error: ErrorCode, action: RemedyAction) {
        let body = #"{"multicast_id":1,"results":[{"message_id":"m"},{"error":"\#(code)"}]}"#
        let failed = Failure(error: error, action: action, rawError: code, httpStatus: 200)
        #expect(verdicts(answer(200, body)) == [.sent(messageID: "m", canonical: nil), .failed(failed)])
    }

    @Test(
        arguments: [
            ("Unavailable", ErrorCode.unavailable, Retry.Scope.recipient, 10_000),
            ("InternalServerError", .internalError, .recipient, 10_000),
            ("DeviceMessageRateExceeded", .quotaExceeded, .device, 60_000),
            ("TopicsMessageRateExceeded", .quotaExceeded, .topic, 60_000),
        ] as [(String, ErrorCode, Retry.Scope, Int64)]
    )
    func retriedCodes(code: String, error: ErrorCode, scope: Retry.Scope, floorMs: Int64) {
        let body = #"{"results":[{"message_id":"m"},{"error":"\#(code)"}]}"#
        let failed = Failure(error: error, action: .none, rawError: code, httpStatus: 200)
        let sent = Verdict.sent(messageID: "m", canonical: nil)
        #expect(verdicts(answer(200, body)) == [sent, .retry(Retry(failure: failed, scope: scope, floorMs: floorMs))])
        // A Retry-After beside a 200 is for tokens that are tried again, and takes the place of the minute.
        #expect(
            verdicts(answer(200, body, retryAfter: "45"))
                == [sent, .retry(Retry(failure: failed, scope: scope, retryAfterMs: 45_000, floorMs: 10_000))]
        )
    }

    @Test func aWithdrawnInterfaceBlocksTheProject() throws {
        let blocked = Verdict.blockProject(try failure("DeprecatedApi"))
        #expect(verdicts(answer(200, #"{"results":[{"error":"DeprecatedApi"}]}"#), ["a"]) == [blocked])
        #expect(verdicts(answer(200, #"{"error":"DeprecatedApi"}"#)) == [blocked, blocked])
    }

    @Test(arguments: [
        #"{"results":[]}"#, #"{"results":[{"message_id":"a"}]}"#,
        #"{"results":[{"message_id":"a"},{"message_id":"b"},{"message_id":"c"}]}"#, #"{"results":{}}"#,
        #"{"results":5,"success":2}"#, #"{"multicast_id":1,"success":2,"failure":0,"canonical_ids":0}"#, "{}", "[]",
        "5",
    ])
    func aShapeThatDoesNotFitProvesNothing(body: String) {
        let answers = verdicts(answer(200, body))
        #expect(answers.count == 2)
        for verdict in answers {
            guard case .retry(let retry) = verdict else {
                Issue.record("\(verdict)")
                continue
            }
            #expect(retry.mayHaveArrived && retry.cause == .unanswered)
        }
        for verdict in verdicts(answer(200, body), atMostOnce: true) {
            guard case .unknown = verdict else {
                Issue.record("\(verdict)")
                continue
            }
        }
    }

    @Test(arguments: [
        "{}", "null", "5", "[]", #"{"message_id":""}"#, #"{"message_id":null}"#, #"{"message_id":{}}"#, #"{"error":5}"#,
        #"{"error":""}"#, #"{"registration_id":"x"}"#, #"{"message_id":"m","error":"Unavailable"}"#,
    ])
    func anUnclearEntryConcernsItsTokenOnly(entry: String) {
        let answers = verdicts(answer(200, #"{"results":[\#(entry),{"message_id":"m"}]}"#))
        #expect(answers.last == .sent(messageID: "m", canonical: nil))
        guard case .retry(let retry) = answers.first else {
            Issue.record("\(answers)")
            return
        }
        #expect(retry.mayHaveArrived)
    }

    @Test(arguments: [
        ("\"new\"", "new"), ("\"token-a\"", nil), ("5", nil), ("\"\"", nil), ("\"a b\"", nil), ("null", nil),
    ])
    func canonicalIDsMustBeTokens(written: String, expected: String?) {
        let body = #"{"results":[{"message_id":"m","registration_id":\#(written)}]}"#
        #expect(verdicts(answer(200, body), ["token-a"]) == [.sent(messageID: "m", canonical: expected)])
    }

    // MARK: topics and groups

    @Test(arguments: [RecipientKind.topic, .condition])
    func topics(kind: RecipientKind) throws {
        #expect(
            verdicts(answer(200, #"{"message_id":6538123456789012345}"#), ["t"], kind: kind)
                == [.sent(messageID: "6538123456789012345", canonical: nil)]
        )
        let limited = Retry(failure: try failure("TopicsMessageRateExceeded"), scope: .topic, floorMs: 60_000)
        #expect(
            verdicts(answer(200, #"{"error":"TopicsMessageRateExceeded"}"#), ["t"], kind: kind) == [.retry(limited)]
        )
    }

    @Test func groups() throws {
        func group(_ body: String) -> Verdict? { verdicts(answer(200, body), ["k"], kind: .group).first }
        #expect(group(#"{"success":2,"failure":0}"#) == .sent(messageID: "", canonical: nil))
        #expect(
            group(#"{"success":1,"failure":2,"failed_registration_ids":["r1","r2",3,"no token"]}"#)
                == .sentPartly(messageID: "", failedTokens: ["r1", "r2"])
        )
        let empty = Failure(error: .emptyGroup, action: .none, httpStatus: 200)
        #expect(group(#"{"success":0,"failure":0}"#) == .failed(empty))
        #expect(group(#"{"success":0,"failure":2}"#) == .retry(Retry(failure: try failure("Unavailable"))))
        #expect(group(#"{"error":"NotRegistered"}"#) == .failed(try failure("NotRegistered")))
        #expect(group(#"{"message_id":"m"}"#) == .sent(messageID: "m", canonical: nil))
        for odd in ["{}", #"{"success":-1,"failure":0}"#, #"{"success":"2","failure":0}"#, #"{"success":2}"#] {
            guard case .retry(let retry) = group(odd) else {
                Issue.record("\(odd)")
                continue
            }
            #expect(retry.mayHaveArrived)
        }
        guard case .retry(let none) = verdicts(answer(503, "", type: nil), ["k"], kind: .group).first else {
            Issue.record("a group that got nothing is tried again")
            return
        }
        #expect(none.failure.error == .unavailable)
    }

    // MARK: the whole request

    @Test(arguments: [
        "JSON_PARSING_ERROR: Unexpected token END OF FILE at position 27.\n",
        "Number of messages on bulk (1001) exceeds maximum allowed (1000)\n",
        "\"registration_ids\" field cannot be empty\n",
        "Field \"data\" must be a JSON array: smth\n",
    ])
    func a400IsTheMessagesFault(sentence: String) {
        let failed = Failure(
            error: .invalidArgument,
            action: .fixMessage,
            rawError: String(sentence.dropLast()),
            httpStatus: 400
        )
        #expect(
            verdicts(answer(400, sentence, type: "text/plain; charset=UTF-8")) == [.failed(failed), .failed(failed)]
        )
    }

    @Test func a400ProvesNothingAgainstOneOfMany() {
        let body = #"{"error":"InvalidRegistration"}"#
        for verdict in verdicts(answer(400, body)) {
            guard case .failed(let failure) = verdict else {
                Issue.record("\(verdict)")
                continue
            }
            #expect(failure.action == .fixMessage)
        }
        guard case .failed(let failure) = verdicts(answer(400, body), ["a"]).first else {
            Issue.record("not final")
            return
        }
        #expect(failure.action == .remove)
    }

    @Test func aLongSentenceIsBounded() {
        let sentence = "JSON_PARSING_ERROR: line\n" + String(repeating: "é", count: 10_000)
        guard case .failed(let failure) = verdicts(answer(400, sentence, type: "text/plain")).first else {
            Issue.record("not final")
            return
        }
        #expect(
            failure.rawError.hasPrefix("JSON_PARSING_ERROR: line?é")
                && failure.rawError.utf8.count <= RawError.maximumBytes
        )
    }

    @Test(arguments: [401, 403, 404])
    func aServerKeyCannotBeRefreshed(status: Int) {
        for verdict in verdicts(answer(status, V1Body.envelope(status, "REFUSED"))) {
            guard case .blockProject(let failure) = verdict else {
                Issue.record("\(verdict)")
                continue
            }
            #expect(failure.httpStatus == status && failure.rawError == "REFUSED")
        }
    }

    /// As Google's servlets wrote it.
    @Test func theirPageOfA401BlocksTheProject() {
        let page = "<HTML><TITLE>INVALID_KEY</TITLE><BODY><H1>INVALID_KEY</H1><H2>Error 401</H2></BODY></HTML>"
        let failure = Failure(error: .unspecified, action: .fixCredentials, httpStatus: 401)
        #expect(verdicts(answer(401, page, type: "text/html; charset=UTF-8"), ["a"]) == [.blockProject(failure)])
    }

    @Test(arguments: 500...599)
    func everyServerErrorRetriesTheWholeRequest(status: Int) {
        for verdict in verdicts(answer(status, "", type: "text/plain")) {
            guard case .retry(let retry) = verdict else {
                Issue.record("\(verdict)")
                continue
            }
            #expect(retry.mayHaveArrived && retry.failure.error == .unavailable)
        }
        for verdict in verdicts(answer(status, retryAfter: "20"), atMostOnce: true) {
            #expect(verdict.refusedForMs == 20_000 && verdict.holdProjectMs == nil)
            if status == 503, case .unknown = verdict { Issue.record("turned away, not unknown") }
            if status != 503, case .retry = verdict { Issue.record("\(status) sent again") }
        }
    }

    @Test func serverErrorsKeepTheirName() throws {
        let outcome = answer(500, "InternalServerError", type: "text/plain")
        guard case .retry(let retry) = verdicts(outcome).first else {
            Issue.record("not retried")
            return
        }
        #expect(retry.failure == (try failure("InternalServerError", 500)))
    }

    @Test func noAnswerConcernsAll() {
        #expect(verdicts(.unsent(reason: "r")).count == 2)
        #expect(verdicts(.refused(reason: "r"), []).isEmpty)
        for verdict in verdicts(.ambiguous(reason: "r"), atMostOnce: true) {
            guard case .unknown = verdict else {
                Issue.record("\(verdict)")
                continue
            }
        }
    }
}
