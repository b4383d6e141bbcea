import FanfareModel
import Testing

@testable import FanfareCore

@Suite struct ManagementAnswerTests {
    private static func result(_ status: ResultStatus, _ error: ErrorCode? = nil, _ rawError: String? = nil)
        -> ServedResult
    {
        ServedResult(status: status, kind: .token, recipient: "a:b", error: error?.rawValue, rawError: rawError)
    }

    private static func text(_ answer: ServedAnswer) -> String {
        "\(answer.status) \(String(decoding: answer.body, as: UTF8.self))"
    }

    private static func answer(_ results: [ServedResult?], _ row: ManagementCallTests.Row) throws -> String {
        let answer = ManagementAnswer.results(results, of: try row.call(), project: "demo", job: "J")
        #expect(answer.headers.contains(ServedAnswer.Header("X-Fanfare-Job", "J")))
        return text(answer)
    }

    // MARK: Batches

    /// The words that Node's SDK knows (`gateway-facts.md` 1.2).
    private static let words: Set = [
        "NOT_FOUND", "INVALID_ARGUMENT", "TOO_MANY_TOPICS", "RESOURCE_EXHAUSTED", "PERMISSION_DENIED",
        "DEADLINE_EXCEEDED", "INTERNAL", "UNKNOWN",
    ]

    @Test func everyErrorHasAWordOfTheInstanceIDAPI() {
        let expected: [ErrorCode: String] = [
            .unregistered: "NOT_FOUND", .invalidArgument: "INVALID_ARGUMENT", .emptyGroup: "INVALID_ARGUMENT",
            .senderIDMismatch: "PERMISSION_DENIED", .thirdPartyAuthError: "PERMISSION_DENIED",
            .quotaExceeded: "RESOURCE_EXHAUSTED", .unavailable: "DEADLINE_EXCEEDED", .transport: "DEADLINE_EXCEEDED",
            .internalError: "INTERNAL", .unspecified: "UNKNOWN", .tooManyTopics: "TOO_MANY_TOPICS",
        ]
        for error in ErrorCode.allCases { #expect(ManagementAnswer.word(error) == expected[error], "\(error)") }
        #expect(Self.words.isSuperset(of: expected.values))
    }

    @Test func batchHasOneElementForEachTokenInItsOrder() throws {
        let body = #"{"to":"/topics/t","registration_tokens":["a","b b","c","d","e","f",""]}"#
        let row = ManagementCallTests.Row(route: .batch(isAdding: true), body: body)
        // The malformed tokens are no recipients of the job; the last result did not come in time.
        let results = [
            Self.result(.sent), Self.result(.failed, .unregistered), Self.result(.failed, .tooManyTopics),
            Self.result(.unknown), nil,
        ]
        let elements = [
            "{}", #"{"error":"INVALID_ARGUMENT"}"#, #"{"error":"NOT_FOUND"}"#, #"{"error":"TOO_MANY_TOPICS"}"#,
            #"{"error":"DEADLINE_EXCEEDED"}"#, "{}", #"{"error":"INVALID_ARGUMENT"}"#,
        ]
        #expect(try Self.answer(results, row) == #"200 {"results":[\#(elements.joined(separator: ","))]}"#)
        #expect(try Self.answer([], row).contains(#"[{},{"error":"INVALID_ARGUMENT"},{},{},{},{},"#))
    }

    @Test func batchWithoutAGoodTokenNeedsNoJob() throws {
        let body = #"{"to":"/topics/t","registration_tokens":["a b"]}"#
        let call = try ManagementCallTests.Row(route: .batch(isAdding: true), body: body).call()
        #expect(call.operation == nil)
        let answer = ManagementAnswer.results([], of: call, project: "demo", job: nil)
        #expect(Self.text(answer) == #"200 {"results":[{"error":"INVALID_ARGUMENT"}]}"#)
        #expect(answer.headers.isEmpty)
    }

    // MARK: One token

    struct Row: Sendable, CustomTestStringConvertible {
        var name: String
        var call: ManagementCallTests.Row
        var result: ServedResult?
        var answer: String

        init(_ name: String, _ call: ManagementCallTests.Row, _ result: ServedResult?, _ answer: String) {
            (self.name, self.call, self.result, self.answer) = (name, call, result, answer)
        }

        var testDescription: String { name }
    }

    private static func listed(_ topics: [String]) -> ServedResult {
        var result = result(.sent)
        result.topics = topics
        return result
    }

    private static func key(_ key: String) -> ServedResult {
        ServedResult(status: .sent, kind: .group, recipient: key, group: key)
    }

    private static let relation = ManagementCallTests.Row(route: .relation(token: "a:b", topic: "t"))
    private static let info = ManagementCallTests.Row(route: .info(token: "a:b"), method: "GET")
    private static let list = ManagementRoute.subscriptions(project: "demo", registration: "a:b", topic: nil)
    private static let reading = ManagementCallTests.Row(route: list, method: "GET")
    private static let one = ManagementCallTests.Row(
        route: .subscriptions(project: "demo", registration: "a:b", topic: "t"),
        method: "GET",
        operation: .listTopics(token: "a:b")
    )
    private static let creation = ManagementCallTests.Row(route: list, query: "topicName=t")
    private static let deletion = ManagementCallTests.Row(
        route: .subscriptions(project: "demo", registration: "a:b", topic: "t"),
        method: "DELETE"
    )
    private static let getting = ManagementCallTests.Row(
        route: .groups,
        method: "GET",
        query: "notification_key_name=g"
    )
    private static func changing(_ operation: String) -> ManagementCallTests.Row {
        let key = operation == "create" ? "" : #""notification_key":"K","#
        let body = #"{"operation":"\#(operation)",\#(key)"notification_key_name":"g","registration_ids":["a"]}"#
        return ManagementCallTests.Row(route: .groups, body: body)
    }

    private static let name = "projects/demo/registrations/a:b/topicSubscriptions"
    private static let late = #"504 {"error":"DEADLINE_EXCEEDED"}"#

    static let rows = [
        Row("relation", relation, result(.sent), "200 {}"),
        Row("late relation", relation, nil, "200 {}"),
        Row("dead token", relation, result(.failed, .unregistered), #"404 {"error":"NOT_FOUND"}"#),
        Row("bad token", relation, result(.failed, .invalidArgument), #"400 {"error":"INVALID_ARGUMENT"}"#),
        Row("too many", relation, result(.failed, .tooManyTopics), #"400 {"error":"TOO_MANY_TOPICS"}"#),
        Row("refused project", relation, result(.failed, .unspecified), #"500 {"error":"UNKNOWN"}"#),
        Row("cancelled", relation, result(.cancelled), #"499 {"error":"CANCELLED"}"#),
        Row("expired", relation, result(.expired), late),
        Row("unknown", relation, result(.unknown), late),
        Row("subscription", one, listed(["s", "t"]), #"200 {"name":"\#(name)/t","topicName":"t"}"#),
        Row(
            "no subscription",
            one,
            listed(["s"]),
            #"404 {"error":{"code":404,"message":"Requested entity was not found.","status":"NOT_FOUND"}}"#
        ),
        Row("info", info, listed(["t", "u"]), #"200 {"scope":"*","rel":{"topics":{"t":{},"u":{}}}}"#),
        Row("info without topics", info, listed([]), #"200 {"scope":"*","rel":{"topics":{}}}"#),
        Row("late info", info, nil, late),
        Row(
            "info of a dead token",
            info,
            result(.failed, .unregistered),
            #"404 {"error":"No information found about this instance id."}"#
        ),
        Row("info of a bad token", info, result(.failed, .invalidArgument), #"400 {"error":"InvalidToken"}"#),
        Row("info in an outage", info, result(.failed, .unavailable), #"503 {"error":"DEADLINE_EXCEEDED"}"#),
        Row("creation", creation, result(.sent), #"200 {"name":"\#(name)/t","topicName":"t"}"#),
        Row("late creation", creation, nil, #"200 {"name":"\#(name)/t","topicName":"t"}"#),
        Row("deletion", deletion, result(.sent), "200 {}"),
        Row("late deletion", deletion, nil, "200 {}"),
        Row(
            "listing",
            reading,
            listed(["t"]),
            #"200 {"topicSubscriptions":[{"name":"\#(name)/t","topicName":"t"}]}"#
        ),
        Row("empty listing", reading, listed([]), #"200 {"topicSubscriptions":[]}"#),
        Row("group", changing("create"), key("K2"), #"200 {"notification_key":"K2"}"#),
        Row("late creation of a group", changing("create"), nil, late),
        Row("late addition", changing("add"), nil, #"200 {"notification_key":"K"}"#),
        Row("late removal", changing("remove"), nil, #"200 {"notification_key":"K"}"#),
        Row("look-up", getting, key("K2"), #"200 {"notification_key":"K2"}"#),
        Row("late look-up", getting, nil, late),
        Row(
            "Google's sentence",
            changing("create"),
            result(.failed, .invalidArgument, "notification_key already exists"),
            #"400 {"error":"notification_key already exists"}"#
        ),
        Row("group in an outage", getting, result(.failed, .unavailable), #"503 {"error":"DEADLINE_EXCEEDED"}"#),
        Row("group in doubt", changing("create"), result(.unknown), late),
    ]

    @Test(arguments: rows) func resultHasTheFormOfItsAPI(row: Row) throws {
        #expect(try Self.answer([row.result], row.call) == row.answer)
    }

    @Test func failedSubscriptionIsAnsweredAsASend() throws {
        for call in [Self.creation, Self.deletion, Self.reading] {
            let failed = Self.result(.failed, .unregistered)
            let answer = ManagementAnswer.results([failed], of: try call.call(), project: "demo", job: "J")
            #expect(answer == V1Answer.result(failed, project: "demo", job: "J"))
        }
        let late = ManagementAnswer.results([nil], of: try Self.reading.call(), project: "demo", job: "J")
        #expect(late.status == 504)
    }

    // MARK: Refusals

    private static let routes = [relation.route, info.route, list, .groups, .batch(isAdding: true)]

    @Test func rejectedJobHasTheFormOfItsAPI() {
        let problem = "op: topic.list needs topic_api v1"
        let answers = Self.routes.map { Self.text(ManagementAnswer.rejected(problem, route: $0, job: "J")) }
        #expect(answers[0] == #"400 {"error":"INVALID_ARGUMENT"}"#)
        #expect(answers[1] == #"403 {"error":"PERMISSION_DENIED"}"#, "a 400 would be the token's")
        #expect(answers[2] == Self.text(V1Answer.rejected(problem, job: "J")))
        #expect(answers[3] == #"400 {"error":"op: topic.list needs topic_api v1"}"#)
        #expect(answers[4] == #"400 {"error":"INVALID_ARGUMENT"}"#)
    }

    @Test func faultHasTheFormOfItsAPI() {
        let fault = EntryFault("token", "empty")
        let answers = Self.routes.map { Self.text(ManagementAnswer.fault(fault, route: $0)) }
        #expect(answers[0] == #"400 {"error":"INVALID_ARGUMENT"}"#)
        #expect(answers[1] == #"400 {"error":"InvalidToken"}"#)
        #expect(answers[2] == Self.text(V1Answer.fault(V1Fault(shape: "token", "empty"))))
        #expect(answers[3] == #"400 {"error":"token: empty"}"#)
        #expect(answers[4] == #"400 {"error":"INVALID_ARGUMENT"}"#)
        let other = ManagementAnswer.fault(EntryFault("op", "not over legacy"), route: Self.info.route)
        #expect(Self.text(other) == #"403 {"error":"PERMISSION_DENIED"}"#, "a 400 would be the token's")
    }

    @Test func answerOfOneWordHasTheRuleInAHeader() {
        let rule = "topic.list needs topic_api: v1; set it\u{A0}\r\n" + String(repeating: "x", count: 400)
        for route in [Self.relation.route, Self.info.route, .batch(isAdding: true)] {
            let fault = ManagementAnswer.fault(EntryFault("op", rule), route: route)
            let rejected = ManagementAnswer.rejected("op: \(rule)", route: route, job: "J")
            for answer in [fault, rejected] {
                let reasons = answer.headers.filter { $0.name == "X-Fanfare-Reason" }.map(\.value)
                #expect(
                    reasons.count == 1 && reasons[0].utf8.count == ManagementAnswer.maximumReasonBytes,
                    "\(reasons)"
                )
                #expect(reasons[0].hasPrefix("op: topic.list needs topic_api: v1; set it????xx"))
            }
        }
        for route in [Self.list, .groups] {
            #expect(ManagementAnswer.fault(EntryFault("op", rule), route: route).headers.isEmpty, "the body says it")
        }
    }

    @Test func keyOfSeveralProjectsIsRefusedByName() {
        let refusal = GatewayError.severalProjects(key: "relay", (1...6).map { "p\($0)" })
        let sentence =
            "The key relay is for several projects (p1, p2, p3, p4, p5, …); this path needs a key of one project."
        for route in Self.routes where route.project == nil {
            let answer = ManagementAnswer.refusal(refusal, route: route)
            #expect(Self.text(answer) == #"403 {"error":"\#(sentence)"}"#)
        }
    }

    @Test func refusalIsAWordWithTheSameStatusAndHeaders() {
        for row in GatewayErrorTests.rows {
            for route in Self.routes {
                let answer = ManagementAnswer.refusal(row.refusal, route: route)
                #expect(answer.status == row.status)
                #expect(answer.headers == row.refusal.v1Answer.headers)
                if route == Self.list {
                    #expect(answer == row.refusal.v1Answer)
                } else {
                    #expect(String(decoding: answer.body, as: UTF8.self) == #"{"error":"\#(row.code)"}"#)
                }
            }
        }
    }
}
