import FCMWire
import FanfareModel
import Testing

@Suite struct GroupOperationTests {
    static let operations: [Operation] = [.groupCreate, .groupAdd, .groupRemove, .groupGet]

    static func verdict(
        _ outcome: RequestOutcome,
        _ op: Operation = .groupAdd,
        key: String = "K",
        canRefresh: Bool = true
    ) -> Verdict {
        GroupOperation.verdict(outcome, op: op, key: key, nowMs: responseNow, canRefresh: canRefresh)
    }

    @Test(arguments: [
        (
            Operation.groupCreate,
            #"{"operation":"create","notification_key_name":"n \"1\"","registration_ids":["a:1","b"]}"#
        ),
        (
            .groupAdd,
            #"{"operation":"add","notification_key_name":"n \"1\"","notification_key":"K","registration_ids":["a:1","b"]}"#
        ),
        (
            .groupRemove,
            #"{"operation":"remove","notification_key_name":"n \"1\"","notification_key":"K","#
                + #""registration_ids":["a:1","b"]}"#
        ),
    ])
    func postsAChange(op: Operation, body: String) {
        let request = GroupOperation.request(op, name: #"n "1""#, key: "K", tokens: ["a:1", "b"])
        #expect(request.method == .post && request.path == "/fcm/notification")
        #expect(String(decoding: request.body, as: UTF8.self) == body)
    }

    @Test func getsByName() {
        let request = GroupOperation.request(.groupGet, name: "a&b=c/é", key: "", tokens: [])
        #expect(
            request
                == WireRequest(
                    method: .get,
                    path: "/fcm/notification?notification_key_name=a%26b%3Dc%2F%C3%A9",
                    headers: .management
                )
        )
    }

    @Test(arguments: operations)
    func theReturnedKeyIsTheGroupsWhateverItLooksLike(op: Operation) {
        #expect(Self.verdict(answer(200, #"{"notification_key":"APA91bOther"}"#), op) == .managed(group: "APA91bOther"))
    }

    @Test func aLostBodyLosesTheKeyOnly() {
        for op in Self.operations {
            let verdict = Self.verdict(
                answer(200, #"{"notific"#, isComplete: false),
                op,
                key: op == .groupCreate ? "" : "K"
            )
            switch op {
            case .groupGet:
                guard case .retry(let retry) = verdict else {
                    Issue.record("a get is asked again")
                    continue
                }
                #expect(!retry.mayHaveArrived)
            case .groupCreate: #expect(verdict == .managed(group: ""))
            default: #expect(verdict == .managed(group: "K"))
            }
        }
    }

    @Test(arguments: [
        "notification_key already exists", "notification_key not found", "no valid registration ids",
        "notification_key_name doesn't match the group name of the notification_key",
    ])
    func refusalKeepsItsTextAndIsTheProducersFault(words: String) {
        let failure = Failure(error: .invalidArgument, action: .fixMessage, rawError: words, httpStatus: 400)
        #expect(Self.verdict(answer(400, #"{"error":"\#(words)"}"#)) == .failed(failure))
        // A mangled content type changes nothing, and neither does plain text.
        #expect(Self.verdict(answer(400, #"{"error":"\#(words)"}"#, type: nil)) == .failed(failure))
        #expect(Self.verdict(answer(400, words, type: "text/plain")) == .failed(failure))
    }

    /// After an attempt whose answer was lost, and only then, a refusal may be that attempt's success.
    @Test func refusalAfterAnUnknownOutcomeMayBeSuccess() {
        let exists = Self.verdict(answer(400, #"{"error":"notification_key already exists"}"#))
        let missing = Self.verdict(answer(400, #"{"error":"notification_key not found"}"#))
        guard case .failed(let failure) = exists, case .failed = missing else {
            Issue.record("refused")
            return
        }
        for op in Self.operations {
            let made = GroupOperation.afterDoubt(exists, op: op, key: "K")
            #expect(made == (op == .groupCreate ? .unknown(failure, retryAfterMs: nil) : exists))
            let gone = GroupOperation.afterDoubt(missing, op: op, key: "K")
            #expect(gone == (op == .groupRemove ? .managed(group: "K") : missing))
            for status in [200, 400, 401, 500] {
                let body = #"{"notification_key":"L","error":"no valid registration ids"}"#
                let other = Self.verdict(answer(status, body))
                #expect(GroupOperation.afterDoubt(other, op: op, key: "K") == other)
            }
        }
    }

    @Test func hostileWordsAreCleanAndShort() {
        let words = "x\\u0000\\n" + String(repeating: "é", count: 500)
        guard case .failed(let failure) = Self.verdict(answer(400, #"{"error":"\#(words)"}"#)) else {
            Issue.record("failed")
            return
        }
        #expect(failure.rawError.hasPrefix("x??") && failure.rawError.utf8.count <= RawError.maximumBytes)
    }

    @Test(arguments: [
        "{}", "[]", #"{"notification_key":""}"#, #"{"notification_key":5}"#, #"{"notification_key":"a b"}"#,
        #"{"notification_key":"\u0000"}"#, #"{"error":{}}"#,
    ])
    func unexpectedJSONIsRetried(body: String) {
        guard case .retry(let retry) = Self.verdict(answer(200, body)) else {
            Issue.record("asked again")
            return
        }
        #expect(!retry.mayHaveArrived && retry.cause == .unanswered)
    }

    @Test(arguments: [
        RequestOutcome.ambiguous(reason: "reset"), .unsent(reason: "dns"), .refused(reason: "goaway"), .stanza([]),
        answer(200, "<html>", type: "text/html"), answer(302), answer(502, "<html>", type: "text/html"), answer(500),
        answer(418), answer(418, #"{"error":"teapot"}"#), answer(403, "<html>", type: "text/html"),
    ])
    func unknownOutcomeIsRetriedAndNeverADuplicate(outcome: RequestOutcome) {
        for op in Self.operations {
            guard case .retry(let retry) = Self.verdict(outcome, op) else {
                Issue.record("asked again")
                continue
            }
            #expect(retry.scope == .recipient)
        }
    }

    /// Sends go by another API, so that nothing but the operation is over; its failure says which API refused it.
    @Test func refusalOfTheAPIFailsTheOperation() {
        func failure(_ status: Int) -> Failure {
            let raw = "device group API: REFUSED"
            return Failure(error: .unspecified, action: .fixCredentials, rawError: raw, httpStatus: status)
        }
        func refused(_ status: Int) -> RequestOutcome { answer(status, #"{"error":"REFUSED"}"#) }
        #expect(Self.verdict(refused(401)) == .refreshCredential(failure(401)))
        #expect(Self.verdict(refused(401), canRefresh: false) == .failed(failure(401)))
        for status in [403, 404] { #expect(Self.verdict(refused(status)) == .failed(failure(status))) }
    }

    @Test func retryAfterDecidesTheWait() {
        guard case .retry(let busy) = Self.verdict(answer(503, #"{"error":"busy"}"#, retryAfter: "7")),
            case .retry(let limited) = Self.verdict(answer(429, #"{"error":"busy"}"#)),
            case .retry(let told) = Self.verdict(answer(429, #"{"error":"busy"}"#, retryAfter: "30"))
        else {
            Issue.record("tried again")
            return
        }
        #expect(busy.retryAfterMs == 7_000 && busy.floorMs == 10_000 && busy.failure.error == .unavailable)
        #expect(limited.floorMs == 60_000 && limited.failure.error == .quotaExceeded)
        #expect(told.retryAfterMs == 30_000 && told.floorMs == 10_000)
    }
}
