import FCMWire
import FanfareModel
import Testing

@Suite struct TopicBatchTests {
    static let sent = Verdict.sent(messageID: "", canonical: nil)

    static func verdicts(_ outcome: RequestOutcome, _ tokens: [String], canRefresh: Bool = true) -> [Verdict] {
        TopicBatch.verdicts(outcome, tokens: tokens, nowMs: responseNow, canRefresh: canRefresh)
    }

    static func failed(_ error: ErrorCode, _ action: RemedyAction, _ raw: String, _ status: Int = 200) -> Verdict {
        .failed(Failure(error: error, action: action, rawError: raw, httpStatus: status))
    }

    @Test func namesTopicAndTokens() {
        var body: [UInt8] = []
        TopicBatch.body(topic: "a%20b", tokens: ["t:1", "t2"][...], into: &body)
        #expect(String(decoding: body, as: UTF8.self) == #"{"to":"/topics/a%20b","registration_tokens":["t:1","t2"]}"#)
        #expect(TopicBatch.path(.subscribe) == "/iid/v1:batchAdd")
        #expect(TopicBatch.path(.unsubscribe) == "/iid/v1:batchRemove")
    }

    @Test func everyTokenHasItsResult() {
        let body =
            #"{"results":[{},{"error":"NOT_FOUND"},{"error":"INVALID_ARGUMENT"},{"error":"TOO_MANY_TOPICS"},"#
            + #"{"error":"RESOURCE_EXHAUSTED"},{"error":"INTERNAL"},{"error":"DEADLINE_EXCEEDED"},"#
            + #"{"error":"UNKNOWN"},{"error":null},7,{"error":{}}]}"#
        let verdicts = Self.verdicts(answer(200, body), (0..<11).map { "t\($0)" })
        #expect(verdicts[0] == Self.sent && verdicts[8] == Self.sent)
        #expect(verdicts[1] == Self.failed(.unregistered, .remove, "NOT_FOUND"))
        #expect(verdicts[2] == Self.failed(.invalidArgument, .remove, "INVALID_ARGUMENT"))
        #expect(verdicts[3] == Self.failed(.tooManyTopics, .none, "TOO_MANY_TOPICS"))
        #expect(verdicts[7] == Self.failed(.unspecified, .none, "UNKNOWN"))
        for (index, error, floorMs) in [
            (4, ErrorCode.quotaExceeded, Int64(60_000)), (5, .internalError, 10_000), (6, .unavailable, 10_000),
            (9, .unspecified, 10_000), (10, .unspecified, 10_000),
        ] {
            guard case .retry(let retry) = verdicts[index] else {
                Issue.record("tried again: \(index)")
                continue
            }
            #expect(retry.failure.error == error && retry.floorMs == floorMs && !retry.mayHaveArrived, "\(index)")
        }
    }

    @Test(arguments: [
        #"{"results":[{}]}"#, #"{"results":[{},{},{}]}"#, #"{"results":{}}"#, "{}", "[]", #"{"results":[{},{"#, "",
    ])
    func answerOfAnotherCountIsRetried(body: String) {
        let verdicts = Self.verdicts(answer(200, body), ["a", "b"])
        #expect(verdicts.count == 2)
        for verdict in verdicts {
            guard case .retry(let retry) = verdict else {
                Issue.record("asked again: \(verdict)")
                continue
            }
            #expect(!retry.mayHaveArrived && retry.cause == .unanswered)
        }
    }

    /// What is said of the whole request is never held against one of its tokens.
    @Test(arguments: [
        (400, #"{"error":"INVALID_ARGUMENT"}"#, "INVALID_ARGUMENT"), (400, #"{"error":"NOT_FOUND"}"#, "NOT_FOUND"),
    ])
    func refusedRequestIsTheProducersFault(status: Int, body: String, raw: String) {
        #expect(Self.verdicts(answer(status, body), ["a"]) == [Self.failed(.invalidArgument, .fixMessage, raw, status)])
    }

    /// Sends go by another API, so that nothing but the operation is over; its failure says which API refused it.
    @Test(arguments: [
        (401, #"{"error":{"code":401,"message":"m","status":"UNAUTHENTICATED"}}"#, "UNAUTHENTICATED"),
        (403, #"{"error":"PERMISSION_DENIED"}"#, "PERMISSION_DENIED"), (404, #"{"error":"NOT_FOUND"}"#, "NOT_FOUND"),
        (404, #"{"error":""}"#, "HTTP 404"),
    ])
    func refusalOfTheAPIFailsTheOperation(status: Int, body: String, code: String) {
        let raw = "Instance ID API: \(code)"
        let failed = Self.failed(.unspecified, .fixCredentials, raw, status)
        #expect(Self.verdicts(answer(status, body), ["a", "b"], canRefresh: false) == [failed, failed])
        let verdicts = Self.verdicts(answer(status, body), ["a"])
        guard status == 401 else { return #expect(verdicts == [failed]) }
        let failure = Failure(error: .unspecified, action: .fixCredentials, rawError: raw, httpStatus: 401)
        #expect(verdicts == [.refreshCredential(failure)], "the token is renewed first")
    }

    @Test func retryAfterDecidesTheWait() {
        let limited = answer(429, #"{"error":"RESOURCE_EXHAUSTED"}"#, retryAfter: "20")
        for verdict in Self.verdicts(limited, ["a", "b"]) + Self.verdicts(answer(503, retryAfter: "20"), ["a"]) {
            guard case .retry(let retry) = verdict else {
                Issue.record("tried again: \(verdict)")
                continue
            }
            #expect(retry.retryAfterMs == 20_000 && retry.scope == .recipient && !retry.mayHaveArrived)
        }
    }

    @Test func noBodyTrapsAndTheCountIsAlwaysRight() {
        var generator = ResponseGenerator(seed: 0x70B)
        for _ in 0..<10_000 {
            let body = Array(#"{"results":[{},{"error":"NOT_FOUND"},{"error":"INTERNAL"}]}"#.utf8)
            let httpAnswer = HTTPAnswer(
                status: [200, 200, 400, 429, 503, 0].randomElement(using: &generator) ?? 200,
                body: body.mutated(using: &generator),
                isComplete: Bool.random(using: &generator),
                contentType: ["application/json", nil].randomElement(using: &generator) ?? nil
            )
            let count = Int.random(in: 1...4, using: &generator)
            let tokens = (0..<count).map { "t\($0)" }
            let verdicts = Self.verdicts(.answered(httpAnswer), tokens)
            #expect(verdicts.count == count)
            for case .retry(let retry) in verdicts { #expect(!retry.mayHaveArrived) }
        }
    }
}

@Suite struct TopicSubscriptionTests {
    static func verdict(_ outcome: RequestOutcome, _ op: Operation = .subscribe) -> Verdict {
        TopicSubscription.verdict(outcome, op: op, nowMs: responseNow)
    }

    @Test func requests() throws {
        let subscribe = TopicSubscription.request(.subscribe, project: "demo", token: "a:b", topic: "x%7E~/y")
        #expect(
            subscribe
                == WireRequest(
                    method: .post,
                    path: "/v1/projects/demo/registrations/a%3Ab/topicSubscriptions?topicName=x%257E~%2Fy",
                    headers: .management,
                    body: Array("{}".utf8)
                )
        )
        let unsubscribe = TopicSubscription.request(.unsubscribe, project: "demo", token: "a:b", topic: "news")
        #expect(
            unsubscribe
                == WireRequest(
                    method: .delete,
                    path: "/v1/projects/demo/registrations/a%3Ab/topicSubscriptions/news?allowMissing=true",
                    headers: .management
                )
        )
    }

    /// `DELETE …/topicSubscriptions/..` would speak of the registration.
    /// The worker asks before it sends, and relies on the request then.
    @Test(arguments: [Operation.subscribe, .unsubscribe], [".", "..", "t", "...", "a.b"])
    func whatIsAddressableHasARequest(op: Operation, name: String) {
        for (token, topic) in [(name, "t"), ("t", name)] {
            let request = TopicSubscription.request(op, project: "p", token: token, topic: topic)
            #expect(TopicSubscription.isAddressable(op, token: token, topic: topic) == (request != nil))
        }
    }

    @Test(arguments: [".", ".."])
    func dotsAreNoSegment(dots: String) {
        #expect(TopicSubscription.request(.unsubscribe, project: "p", token: "t", topic: dots) == nil)
        #expect(TopicSubscription.request(.unsubscribe, project: "p", token: dots, topic: "t") == nil)
        #expect(TopicSubscription.request(.subscribe, project: "p", token: dots, topic: "t") == nil)
        #expect(TopicSubscription.request(.subscribe, project: "p", token: "t", topic: dots) != nil)
        #expect(TopicSubscription.request(.subscribe, project: dots, token: "t", topic: "t") == nil)
        #expect(TopicSubscription.request(.unsubscribe, project: "p", token: "t", topic: "...") != nil)
    }

    @Test func existingStateIsSuccess() {
        let sent = Verdict.sent(messageID: "", canonical: nil)
        let exists = answer(409, V1Body.envelope(409, "ALREADY_EXISTS"))
        let missing = answer(404, V1Body.envelope(404, "NOT_FOUND"))
        #expect(Self.verdict(answer(200, #"{"name":"projects/p"}"#)) == sent)
        #expect(Self.verdict(answer(200, "{}"), .unsubscribe) == sent)
        #expect(Self.verdict(answer(200, "", isComplete: false), .unsubscribe) == sent)
        #expect(Self.verdict(exists) == sent)
        #expect(Self.verdict(missing, .unsubscribe) == sent)
        #expect(Self.verdict(exists, .unsubscribe) != sent)
        #expect(Self.verdict(missing) != sent)
        #expect(Self.verdict(answer(404, "<html>", type: "text/html"), .unsubscribe) != sent)
        #expect(Self.verdict(answer(409, "<html>", type: "text/html")) != sent)
    }

    @Test func aDeadTokenIsOneBothWays() {
        let body = V1Body.envelope(404, "NOT_FOUND", "m", V1Body.fcmError("UNREGISTERED"))
        for op in [Operation.subscribe, .unsubscribe] {
            guard case .failed(let failure) = Self.verdict(answer(404, body), op) else {
                Issue.record("failed")
                continue
            }
            #expect(failure.error == .unregistered && failure.action == .remove)
        }
    }

    @Test(arguments: [(403, "PERMISSION_DENIED"), (404, "NOT_FOUND")])
    func refusalOfTheAPIFailsTheOperation(status: Int, word: String) {
        let expected = TopicBatchTests.failed(.unspecified, .fixCredentials, "v1 topic API: \(word)", status)
        #expect(Self.verdict(answer(status, V1Body.envelope(status, word))) == expected)
    }

    @Test(arguments: [(400, "FAILED_PRECONDITION"), (429, "RESOURCE_EXHAUSTED")])
    func tooManyTopicsIsJudgedAsOverInstanceID(status: Int, word: String) {
        let body = V1Body.envelope(status, word, "m", V1Body.errorInfo("TOO_MANY_TOPICS"))
        let expected = TopicBatchTests.failed(.tooManyTopics, .none, "TOO_MANY_TOPICS", status)
        #expect(Self.verdict(answer(status, body)) == expected)
    }

    @Test(arguments: [
        RequestOutcome.ambiguous(reason: "reset"), .unsent(reason: "dns"), .refused(reason: "goaway"), .stanza([]),
        answer(200, "<html>", type: "text/html"), answer(500), answer(503, retryAfter: "9"), answer(302),
        answer(429, V1Body.envelope(429, "RESOURCE_EXHAUSTED", "m", V1Body.errorInfo("RATE_LIMIT_EXCEEDED"))),
    ])
    func unknownOutcomeIsRetriedAndDelaysNoSend(outcome: RequestOutcome) {
        let verdict = Self.verdict(outcome)
        guard case .retry(let retry) = verdict else {
            Issue.record("asked again: \(verdict)")
            return
        }
        #expect(!retry.mayHaveArrived && verdict.holdProjectMs == nil)
    }
}
