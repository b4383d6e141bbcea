import FanfareModel
import Testing

@testable import FanfareCore

@Suite struct V1RequestTests {
    /// A body that is read, and what becomes of it.
    struct Row: Sendable, CustomTestStringConvertible {
        var name: String
        var body: String
        var kind = RecipientKind.token
        var recipient = "a:b"
        var message = #"{"data":{"k":"v"}}"#
        var validateOnly = false

        var testDescription: String { name }
    }

    static let rows = [
        Row(name: "token first", body: #"{"message":{"token":"a:b","data":{"k":"v"}}}"#),
        Row(name: "token last", body: #"{"message":{"data":{"k":"v"},"token":"a:b"}}"#),
        Row(
            name: "token between, the rest in its order",
            body: #"{"message":{"webpush":{},"token":"a:b","android":{"ttl":"3s"},"apns":{}}}"#,
            message: #"{"webpush":{},"android":{"ttl":"3s"},"apns":{}}"#
        ),
        Row(name: "fid", body: #"{"message":{"fid":"cAAAAAAAAAAAAAAAAAAAAA","data":{"k":"v"}}}"#, kind: .fid)
            .naming("cAAAAAAAAAAAAAAAAAAAAA"),
        Row(name: "topic", body: #"{"message":{"topic":"news","data":{"k":"v"}}}"#, kind: .topic).naming("news"),
        Row(name: "topic with prefix", body: #"{"message":{"topic":"/topics/news","data":{"k":"v"}}}"#, kind: .topic)
            .naming("news"),
        Row(name: "condition", body: #"{"message":{"condition":"'a' in topics","data":{"k":"v"}}}"#, kind: .condition)
            .naming("'a' in topics"),
        Row(name: "byte order mark", body: "\u{FEFF}" + #"{"message":{"token":"a:b","data":{"k":"v"}}}"#),
        Row(name: "blanks", body: "\n{ \"message\" : { \"token\" : \"a:b\" , \"data\" : { \"k\" : \"v\" } } }\r\n"),
        Row(name: "escapes", body: #"{"message":{"\u0074oken":"a\u003ab","data":{"\u006b":"v"}}}"#),
        Row(
            name: "empty notification of PyFCM",
            body: #"{"message":{"token":"a:b","notification":{}},"validate_only":false}"#,
            message: #"{"notification":{}}"#
        ),
        Row(
            name: "snake_case within",
            body: #"{"message":{"token":"a:b","fcm_options":{"analytics_label":"x"}}}"#,
            message: #"{"fcm_options":{"analytics_label":"x"}}"#
        ),
        Row(
            name: "camelCase within",
            body: #"{"message":{"token":"a:b","fcmOptions":{"analyticsLabel":"x"}}}"#,
            message: #"{"fcmOptions":{"analyticsLabel":"x"}}"#
        ),
        Row(
            name: "validate_only",
            body: #"{"validate_only":true,"message":{"token":"a:b","data":{"k":"v"}}}"#,
            validateOnly: true
        ),
        Row(
            name: "validateOnly",
            body: #"{"message":{"token":"a:b","data":{"k":"v"}},"validateOnly":true}"#,
            validateOnly: true
        ),
        Row(name: "null flag", body: #"{"message":{"token":"a:b","data":{"k":"v"}},"validateOnly":null}"#),
        Row(
            name: "null targets are absent",
            body: #"{"message":{"fid":null,"topic":null,"token":"a:b","condition":null,"data":{"k":"v"}}}"#
        ),
        Row(name: "nothing but a token", body: #"{"message":{"token":"a:b"}}"#, message: "{}"),
    ]

    @Test(arguments: rows) func requestBecomesTheFieldsOfAJob(row: Row) throws {
        let request = try V1Request(Array(row.body.utf8))
        #expect(request.kind == row.kind)
        #expect(request.recipient == row.recipient)
        #expect(String(decoding: request.message, as: UTF8.self) == row.message)
        #expect(request.validateOnly == row.validateOnly)
        // The rules of jobs accept what was read.
        #expect(EntryBuilder.reason([row.kind.rawValue: row.recipient, "message": row.message]) == nil)
    }

    /// A body that is refused.
    struct Bad: Sendable, CustomTestStringConvertible {
        var body: String
        var path: String
        var message: String
        var isOfShape = true

        var testDescription: String { message }
    }

    static let faults = [
        Bad(
            body: "",
            path: "",
            message: "Invalid JSON payload received. the text ends where a value should be at byte 0."
        ),
        Bad(
            body: #"{"message":{"token":"a:b"}} x"#,
            path: "",
            message: "Invalid JSON payload received. unexpected text after the value at byte 28."
        ),
        Bad(body: "[]", path: "", message: "must be an object, not an array"),
        Bad(body: #"{"message":{"token":"a"},"x":1}"#, path: "x", message: "x: unknown field"),
        Bad(body: #"{"message":{},"message":{}}"#, path: "message", message: "message: given more than once"),
        Bad(
            body: #"{"message":{"token":"a"},"validate_only":true,"validateOnly":true}"#,
            path: "validateOnly",
            message: "validateOnly: also given as validate_only"
        ),
        Bad(
            body: #"{"message":{"token":"a"},"validate_only":"true"}"#,
            path: "validate_only",
            message: "validate_only: must be true or false, not a string"
        ),
        Bad(body: #"{"message":"x"}"#, path: "message", message: "message: must be an object, not a string"),
        Bad(
            body: #"{"message":{"token":7}}"#,
            path: "message.token",
            message: "message.token: must be a string, not a number"
        ),
        Bad(
            body: #"{"message":{"token":"a","token":"b"}}"#,
            path: "message.token",
            message: "message.token: given more than once"
        ),
        Bad(
            body: #"{"message":{"topic":"a","token":"b"}}"#,
            path: "message",
            message: "Invalid value at 'message' (oneof), oneof field 'target' is already set. Cannot set 'topic'"
        ),
        Bad(body: "{}", path: "message", message: "Recipient of the message is not set.", isOfShape: false),
        Bad(
            body: #"{"message":null}"#,
            path: "message",
            message: "Recipient of the message is not set.",
            isOfShape: false
        ),
        Bad(
            body: #"{"message":{"token":null}}"#,
            path: "message",
            message: "Recipient of the message is not set.",
            isOfShape: false
        ),
        Bad(
            body: #"{"message":{"topic":""}}"#,
            path: "message",
            message: "Recipient of the message is not set.",
            isOfShape: false
        ),
        Bad(
            body: #"{"message":{"token":"a b"}}"#,
            path: "message.token",
            message: "The registration token is not a valid FCM registration token",
            isOfShape: false
        ),
        Bad(
            body: #"{"message":{"fid":"é"}}"#,
            path: "message.fid",
            message: "The registration token is not a valid FCM registration token",
            isOfShape: false
        ),
    ]

    @Test(arguments: faults) func faultHasAPlaceAndASentence(row: Bad) throws {
        let fault = #expect(throws: V1Fault.self) { try V1Request(Array(row.body.utf8)) }
        #expect(fault?.path == row.path)
        #expect(fault?.message == row.message)
        #expect(fault?.isOfShape == row.isOfShape)
    }

    @Test func messageMayBeAsDeepAndBodyAsLongAsAJobAllows() throws {
        func nested(_ levels: Int) -> String {
            // The message and two objects around the arrays.
            let arrays = String(repeating: "[", count: levels - 3) + String(repeating: "]", count: levels - 3)
            return #"{"message":{"token":"a:b","webpush":{"notification":{"x":\#(arrays)}}}}"#
        }
        let request = try V1Request(Array(nested(64).utf8))
        let message = String(decoding: request.message, as: UTF8.self)
        #expect(EntryBuilder.reason(["token": "a:b", "message": message]) == nil)
        #expect(throws: V1Fault.self) { try V1Request(Array(nested(65).utf8)) }
        let blanks = String(repeating: " ", count: V1Request.maximumBytes - 27)
        #expect(try V1Request(Array((#"{"message":{"token":"a:b"}}"# + blanks).utf8)).recipient == "a:b")
        #expect(throws: V1Fault.self) { try V1Request(Array((#"{"message":{"token":"a:b"}}"# + blanks + " ").utf8)) }
    }

    /// Coalescing compares the bytes.
    @Test func requestsThatDifferInTheirTargetHaveEqualMessages() throws {
        let bodies = [
            #"{"message":{"token":"a","notification":{"title":"T"},"data":{"k":"v"}}}"#,
            #"{"message": {"notification": {"title": "T"}, "token": "b", "data": {"k": "v"}}}"#,
            #"{"message":{"notification":{"title":"\u0054"},"data":{"k":"v"},"fid":"c"},"validate_only":false}"#,
        ]
        let messages = Set(try bodies.map { try V1Request(Array($0.utf8)).message })
        #expect(messages == [Array(#"{"notification":{"title":"T"},"data":{"k":"v"}}"#.utf8)])
    }
}

extension V1RequestTests.Row {
    fileprivate func naming(_ recipient: String) -> Self {
        var row = self
        row.recipient = recipient
        return row
    }
}
