import FanfareJSON
import FanfareModel
import Testing

@testable import FanfareCore

@Suite struct V1AnswerTests {
    private static let fcmError = "type.googleapis.com/google.firebase.fcm.v1.FcmError"

    private static func failed(_ error: ErrorCode, _ rawError: String? = nil, status: Int64 = 400) -> ServedResult {
        ServedResult(
            status: .failed,
            kind: .token,
            recipient: "a:b",
            error: error.rawValue,
            rawError: rawError,
            httpStatus: status
        )
    }

    private static func answer(_ result: ServedResult) -> ServedAnswer {
        V1Answer.result(result, project: "demo", job: "J")
    }

    private static func text(_ answer: ServedAnswer) -> String { String(decoding: answer.body, as: UTF8.self) }

    private static func headers(_ answer: ServedAnswer) -> [String] { answer.headers.map { "\($0.name): \($0.value)" } }

    /// One row of the table of errors.
    struct Row: Sendable, CustomTestStringConvertible {
        var error: ErrorCode
        var status: Int
        var code: String
        var detail: String
        var message: String

        var testDescription: String { error.rawValue }
    }

    private static func fcm(_ code: String) -> String { #"{"@type":"\#(fcmError)","errorCode":"\#(code)"}"# }

    private static func info(_ reason: String) -> String {
        let type = "type.googleapis.com/google.rpc.ErrorInfo"
        return #"{"@type":"\#(type)","reason":"\#(reason)","domain":"googleapis.com"}"#
    }

    static let rows = [
        Row(
            error: .unregistered,
            status: 404,
            code: "NOT_FOUND",
            detail: fcm("UNREGISTERED"),
            message: "Requested entity was not found."
        ),
        Row(
            error: .invalidArgument,
            status: 400,
            code: "INVALID_ARGUMENT",
            detail: fcm("INVALID_ARGUMENT"),
            message: "Request contains an invalid argument."
        ),
        Row(
            error: .senderIDMismatch,
            status: 403,
            code: "PERMISSION_DENIED",
            detail: fcm("SENDER_ID_MISMATCH"),
            message: "SenderId mismatch"
        ),
        Row(
            error: .thirdPartyAuthError,
            status: 401,
            code: "UNAUTHENTICATED",
            detail: fcm("THIRD_PARTY_AUTH_ERROR"),
            message: "Auth error from APNS or Web Push Service"
        ),
        Row(
            error: .quotaExceeded,
            status: 429,
            code: "RESOURCE_EXHAUSTED",
            detail: fcm("QUOTA_EXCEEDED"),
            message: "Quota exceeded."
        ),
        Row(
            error: .unavailable,
            status: 503,
            code: "UNAVAILABLE",
            detail: fcm("UNAVAILABLE"),
            message: "The service is currently unavailable."
        ),
        Row(
            error: .transport,
            status: 503,
            code: "UNAVAILABLE",
            detail: fcm("UNAVAILABLE"),
            message: "The service is currently unavailable."
        ),
        Row(
            error: .internalError,
            status: 500,
            code: "INTERNAL",
            detail: fcm("INTERNAL"),
            message: "Internal error encountered."
        ),
        Row(
            error: .unspecified,
            status: 500,
            code: "UNKNOWN",
            detail: fcm("UNSPECIFIED_ERROR"),
            message: "FCM refused the message for a reason without a code."
        ),
        Row(
            error: .emptyGroup,
            status: 400,
            code: "FAILED_PRECONDITION",
            detail: info("EMPTY_GROUP"),
            message: "The device group has no members."
        ),
        Row(
            error: .tooManyTopics,
            status: 400,
            code: "FAILED_PRECONDITION",
            detail: info("TOO_MANY_TOPICS"),
            message: "The registration has too many topic subscriptions."
        ),
    ]

    @Test func everyErrorHasARow() {
        #expect(Set(Self.rows.map(\.error)) == Set(ErrorCode.allCases))
        #expect(Self.rows.count == ErrorCode.allCases.count)
    }

    @Test(arguments: rows) func errorIsAnsweredAsFCMAnswersIt(row: Row) {
        // The status of FCM's answer changes nothing: a 404 without FcmError must not become one.
        for status: Int64 in [0, 400, 404, 503] {
            let answer = Self.answer(Self.failed(row.error, row.error.rawValue, status: status))
            #expect(answer.status == row.status)
            #expect(answer.type == "application/json; charset=UTF-8")
            let head = #""code":\#(row.status),"message":"\#(row.message)","status":"\#(row.code)""#
            #expect(Self.text(answer) == #"{"error":{\#(head),"details":[\#(row.detail)]}}"#)
            let challenge = row.status == 401 ? [#"WWW-Authenticate: Bearer realm="fanfare""#] : []
            #expect(Self.headers(answer) == challenge + ["X-Fanfare-Job: J"])
        }
    }

    @Test func onlyUnregisteredIsAnsweredByA404() {
        #expect(Self.rows.filter { $0.status == 404 }.map(\.error) == [.unregistered])
    }

    @Test func errorOfALaterWorkerIsUnspecified() {
        var result = Self.failed(.unspecified)
        let expected = Self.answer(result)
        result.error = "SOMETHING_NEW"
        #expect(Self.answer(result) == expected)
        result.error = nil
        #expect(Self.answer(result) == expected)
    }

    @Test(arguments: [
        ("projects/demo/messages/0:1%2", "projects/demo/messages/0:1%2"),
        ("projects/123/messages/fake_message_id", "projects/123/messages/fake_message_id"),
        ("0:15%31bd", "projects/demo/messages/0:15%31bd"), ("", "projects/demo/messages/fanfare:J"),
        (nil, "projects/demo/messages/fanfare:J"),
    ])
    func sentIsASuccessWithAName(id: String?, name: String) {
        let answer = Self.answer(ServedResult(status: .sent, kind: .token, recipient: "a", messageID: id))
        #expect(answer == .json(["name": .string(name)], headers: [ServedAnswer.Header("X-Fanfare-Job", "J")]))
        #expect(answer.status == 200)
    }

    @Test func pushThatRedisDidNotConfirmIsNotCalledFCMs() {
        let answer = V1Answer.unconfirmed(job: "gw-1")
        #expect(answer.status == 504 && answer.headers.contains(.init("X-Fanfare-Status", "unknown")))
        #expect(String(decoding: answer.body, as: UTF8.self).contains("Redis did not say"))
    }

    @Test func deferredNameLeadsToTheJob() {
        let answer = V1Answer.deferred(project: "demo", job: "1700-0")
        #expect(Self.text(answer) == #"{"name":"projects/demo/messages/fanfare:1700-0"}"#)
        #expect(answer.status == 200)
        #expect(Self.headers(answer) == ["X-Fanfare-Job: 1700-0"])
    }

    @Test(arguments: [
        (ResultStatus.unknown, 504, "DEADLINE_EXCEEDED"), (.expired, 504, "DEADLINE_EXCEEDED"),
        (.cancelled, 499, "CANCELLED"),
    ])
    func resultThatIsNotFCMsDecisionHasAStatusThatNoSDKRepeats(status: ResultStatus, http: Int, code: String) throws {
        let answer = Self.answer(ServedResult(status: status, kind: .token, recipient: "a"))
        #expect(answer.status == http)
        #expect(Self.headers(answer) == ["X-Fanfare-Job: J", "X-Fanfare-Status: \(status.rawValue)"])
        let error = try JSONParser.parse(answer.body).object?["error"]?.object
        #expect(error?["status"]?.string == code)
        #expect(error?["code"]?.number?.int64 == Int64(http))
        #expect(error?["details"] == nil)
    }

    /// What `raw_error` says of the fields, and the fields that the answer names.
    @Test(arguments: [
        ("INVALID_ARGUMENT: message.android.ttl", ["message.android.ttl"], "Request contains an invalid argument."),
        ("INVALID_ARGUMENT: message.apns, message.data", ["message.apns", "message.data"], nil),
        ("INVALID_ARGUMENT: message", ["message"], nil), ("INVALID_ARGUMENT: BadDeviceToken", [], nil),
        ("INVALID_ARGUMENT", [], nil), (nil, [], nil),
    ])
    func invalidArgumentNamesTheFieldsThatFCMNamed(rawError: String?, fields: [String], message: String?) throws {
        let answer = Self.answer(Self.failed(.invalidArgument, rawError))
        let error = try #require(JSONParser.parse(answer.body).object?["error"]?.object)
        #expect(error["message"]?.string == message ?? "Request contains an invalid argument.")
        let details = try #require(error["details"]?.array)
        #expect(details.first?.object?["@type"]?.string == Self.fcmError)
        let violations = details.dropFirst().first?.object?["fieldViolations"]?.array ?? []
        #expect(violations.compactMap { $0.object?["field"]?.string } == fields)
    }

    /// Whatever the protocol said: the worker has read it.
    @Test(arguments: ["INVALID_ARGUMENT: message.token", "INVALID_ARGUMENT: BadDeviceToken", "BAD_REGISTRATION", nil])
    func adviceToRemoveATokenBlamesIt(rawError: String?) throws {
        for kind in [RecipientKind.token, .fid, .topic] {
            var result = Self.failed(.invalidArgument, rawError)
            (result.kind, result.action) = (kind, "remove")
            let text = Self.text(Self.answer(result))
            #expect(text.contains(V1Fault.badTokenMessage) == (kind != .topic))
            #expect(text.contains(#""field":"message.\#(kind.rawValue)","description":"Invalid"#) == (kind != .topic))
        }
    }

    @Test(arguments: [
        ("message.data: 5012 bytes, at most 4096", "message.data", "5012 bytes, at most 4096"),
        ("topic: empty", "message.topic", "empty"), ("condition: empty", "message.condition", "empty"),
        ("token: empty", "message.token", "empty"), ("fid: only over v1", "fid", "only over v1"),
        ("tokens[3]: empty", "tokens[3]", "empty"), ("priority: 10 is not 0 to 9", "priority", "10 is not 0 to 9"),
    ])
    func rejectedJobNamesTheFieldOfTheRequest(problem: String, field: String, rule: String) {
        let badRequest = "type.googleapis.com/google.rpc.BadRequest"
        let violation = #"{"field":"\#(field)","description":"\#(rule)"}"#
        let details = #"\#(Self.fcm("INVALID_ARGUMENT")),{"@type":"\#(badRequest)","fieldViolations":[\#(violation)]}"#
        let message = "\(field): \(rule)"
        let expected =
            #"{"error":{"code":400,"message":"\#(message)","status":"INVALID_ARGUMENT","details":[\#(details)]}}"#
        let answer = V1Answer.rejected(problem, job: "J")
        #expect(Self.text(answer) == expected)
        #expect(answer.status == 400)
        #expect(Self.headers(answer) == ["X-Fanfare-Job: J"])
        let entry = EntryFault(String(problem.prefix { $0 != ":" }), rule)
        #expect(V1Answer.fault(V1Fault(entry), job: "J") == answer)
    }

    @Test func faultOfTheShapeHasNoFcmError() {
        let answer = V1Answer.fault(V1Fault(shape: "Idempotency-Key", "empty"))
        let details =
            #"{"@type":"type.googleapis.com/google.rpc.BadRequest","#
            + #""fieldViolations":[{"field":"Idempotency-Key","description":"empty"}]}"#
        let head = #""code":400,"message":"Idempotency-Key: empty","status":"INVALID_ARGUMENT""#
        #expect(Self.text(answer) == #"{"error":{\#(head),"details":[\#(details)]}}"#)
        #expect(answer.headers.isEmpty, "there is no job")
    }

    /// PHP's SDK deletes a token when the sentence matches this pattern (`gateway-facts.md` 3).
    @Test func onlyABadTokensSentenceIsOneForPHP() throws {
        let pattern = /((not.+valid)|invalid).+token/.ignoresCase()
        #expect(V1Fault.badTokenMessage.contains(pattern))
        for row in Self.rows { #expect(!row.message.contains(pattern), "\(row.error)") }
        for refusal in GatewayErrorTests.rows.map(\.refusal) {
            #expect(!refusal.error.message.contains(pattern), "\(refusal)")
        }
        for status in ResultStatus.allCases where status != .failed {
            let answer = Self.answer(ServedResult(status: status, kind: .token, recipient: "a"))
            #expect(!Self.text(answer).contains(pattern))
        }
    }

    /// The enumeration of Java's SDK, which throws on another name (`gateway-facts.md` 3).
    @Test func everyCodeIsOneOfJavasEnumeration() {
        let java: Set = [
            "INVALID_ARGUMENT", "FAILED_PRECONDITION", "OUT_OF_RANGE", "UNAUTHENTICATED", "PERMISSION_DENIED",
            "NOT_FOUND", "CONFLICT", "ABORTED", "ALREADY_EXISTS", "RESOURCE_EXHAUSTED", "CANCELLED", "DATA_LOSS",
            "UNKNOWN", "INTERNAL", "UNAVAILABLE", "DEADLINE_EXCEEDED",
        ]
        #expect(java.isSuperset(of: CanonicalCode.allCases.map(\.rawValue)))
    }
}
