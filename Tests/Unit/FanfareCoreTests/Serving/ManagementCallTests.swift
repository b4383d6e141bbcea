import Testing

@testable import FanfareCore

@Suite struct ManagementCallTests {
    private static let batch = ManagementRoute.batch(isAdding: true)
    private static let removal = ManagementRoute.batch(isAdding: false)
    private static let list = ManagementRoute.subscriptions(project: "demo", registration: "a:b", topic: nil)
    private static let one = ManagementRoute.subscriptions(project: "demo", registration: "a:b", topic: "news")

    struct Row: Sendable, CustomTestStringConvertible {
        var route: ManagementRoute
        var method = "POST"
        var query = ""
        var body = ""
        var operation: ManagementOperation?

        var testDescription: String { "\(method) \(route) \(query) \(body)" }

        func call() throws(EntryFault) -> ManagementCall {
            try ManagementCall(route, method: method, query: query, body: Array(body.utf8))
        }
    }

    static let rows = [
        Row(
            route: batch,
            body: #"{"to":"/topics/news","registration_tokens":["a","b"]}"#,
            operation: .subscribe(["a", "b"], topic: "news")
        ),
        Row(
            route: removal,
            body: "\u{FEFF}" + #"{"registration_tokens":["a","a"],"to":"news","x":1}"#,
            operation: .unsubscribe(["a", "a"], topic: "news")
        ),
        Row(
            route: batch,
            body: #"{"to":"/topics/news","registration_tokens":["a b","b",""]}"#,
            operation: .subscribe(["b"], topic: "news")
        ),
        Row(route: batch, body: #"{"to":"/topics/news","registration_tokens":["a b"]}"#, operation: nil),
        Row(route: .relation(token: "a:b", topic: "news"), operation: .subscribe(["a:b"], topic: "news")),
        Row(
            route: .relation(token: "a:b", topic: "news"),
            method: "DELETE",
            operation: .unsubscribe(["a:b"], topic: "news")
        ),
        Row(route: .info(token: "a:b"), method: "GET", query: "details=true", operation: .listTopics(token: "a:b")),
        Row(route: list, query: "topic_name=news", body: "{}", operation: .subscribe(["a:b"], topic: "news")),
        Row(route: list, query: "alt=json&topicName=a%2525", operation: .subscribe(["a:b"], topic: "a%25")),
        Row(route: list, body: #"{"topicName":"news"}"#, operation: .subscribe(["a:b"], topic: "news")),
        Row(route: list, body: #"{"topic_name":"news"}"#, operation: .subscribe(["a:b"], topic: "news")),
        Row(route: list, method: "GET", query: "pageSize=10", operation: .listTopics(token: "a:b")),
        Row(
            route: one,
            method: "DELETE",
            query: "allow_missing=true",
            operation: .unsubscribe(["a:b"], topic: "news")
        ),
        Row(
            route: .groups,
            method: "GET",
            query: "notification_key_name=my+group%21",
            operation: .getGroup(name: "my group!")
        ),
        Row(
            route: .groups,
            body: #"{"operation":"create","notification_key_name":"g","registration_ids":["a","b"]}"#,
            operation: .createGroup(name: "g", members: ["a", "b"])
        ),
        Row(
            route: .groups,
            body: #"{"operation":"add","notification_key_name":"g","notification_key":"K","registration_ids":["a"]}"#,
            operation: .add(members: ["a"], name: "g", key: "K")
        ),
        Row(
            route: .groups,
            body:
                #"{"operation":"remove","notification_key":"K","notification_key_name":"g","registration_ids":["a"]}"#,
            operation: .remove(members: ["a"], name: "g", key: "K")
        ),
    ]

    @Test(arguments: rows) func requestIsAnOperation(row: Row) throws {
        #expect(try row.call().operation == row.operation)
    }

    struct Bad: Sendable, CustomTestStringConvertible {
        var row: Row
        var reason: String

        init(_ route: ManagementRoute, _ method: String, _ body: String, _ reason: String) {
            row = Row(route: route, method: method, body: body)
            self.reason = reason
        }

        var testDescription: String { reason }
    }

    private static let badGroup = #"{"operation":"add","notification_key_name":"g","registration_ids":["a"]}"#
    private static let thousandAndOne = String(repeating: #""a","#, count: 1_000) + #""a""#

    private static let notTexts = "registration_tokens: must be an array of strings"

    static let faults = [
        Bad(batch, "POST", "", "body: not JSON at byte 0: the text ends where a value should be"),
        Bad(batch, "POST", "[]", "body: must be an object, not an array"),
        Bad(batch, "POST", "{}", "to: required"),
        Bad(batch, "POST", #"{"to":""}"#, "to: required"),
        Bad(batch, "POST", #"{"to":"/topics/"}"#, "to: empty"),
        Bad(batch, "POST", #"{"to":"/topics/a b"}"#, "to: byte 1 is not one of A-Z a-z 0-9 - _ . ~ %"),
        Bad(batch, "POST", #"{"to":"t"}"#, notTexts),
        Bad(batch, "POST", #"{"to":"t","registration_tokens":["a",1]}"#, notTexts),
        Bad(batch, "POST", #"{"to":"t","registration_tokens":[]}"#, "registration_tokens: 0 tokens, 1 to 1000"),
        Bad(
            batch,
            "POST",
            #"{"to":"t","registration_tokens":[\#(thousandAndOne)]}"#,
            "registration_tokens: 1001 tokens, 1 to 1000"
        ),
        Bad(.relation(token: "a b", topic: "t"), "POST", "", "token: byte 1 is not one of A-Z a-z 0-9 _ : . -"),
        Bad(.relation(token: "a", topic: "t t"), "POST", "", "topic: byte 1 is not one of A-Z a-z 0-9 - _ . ~ %"),
        Bad(.info(token: "é"), "GET", "", "token: byte 0 is not one of A-Z a-z 0-9 _ : . -"),
        Bad(list, "POST", "{}", "topic_name: required"),
        Bad(list, "POST", "", "topic_name: required"),
        Bad(list, "POST", "x", "body: not JSON at byte 0: unexpected character where a value should be"),
        Bad(.groups, "GET", "", "notification_key_name: required"),
        Bad(.groups, "POST", "{}", "notification_key_name: required"),
        Bad(.groups, "POST", #"{"notification_key_name":"g"}"#, "registration_ids: must be an array of strings"),
        Bad(.groups, "POST", badGroup, "notification_key: required"),
        Bad(
            .groups,
            "POST",
            #"{"operation":"drop","notification_key_name":"g","registration_ids":[]}"#,
            "operation: must be create, add or remove"
        ),
    ]

    @Test(arguments: faults) func faultHasAPlaceAndARule(bad: Bad) {
        let fault = #expect(throws: EntryFault.self) { try bad.row.call() }
        #expect(fault?.reason == bad.reason)
    }
}
