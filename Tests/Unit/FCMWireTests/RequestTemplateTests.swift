import FanfareJSON
import FanfareModel
import Testing

@testable import FCMWire

@Suite struct RequestTemplateTests {
    static let golden: [(MessageFormat, Transport, RecipientKind, String, String)] = [
        (.v1, .v1, .token, "T", #"{"message":{"token":"T","data":{"k":"v"}}}"#),
        (.v1, .v1, .fid, "F", #"{"message":{"fid":"F","data":{"k":"v"}}}"#),
        (.v1, .v1, .topic, "news", #"{"message":{"topic":"news","data":{"k":"v"}}}"#),
        (.v1, .v1, .group, "G", #"{"message":{"token":"G","data":{"k":"v"}}}"#),
        (
            .v1, .v1, .condition, "'a' in topics && 'b' in topics",
            #"{"message":{"condition":"'a' in topics && 'b' in topics","data":{"k":"v"}}}"#
        ),
        (.legacy, .legacy, .token, "T", #"{"to":"T","data":{"k":"v"}}"#),
        (.legacy, .legacy, .group, "G", #"{"to":"G","data":{"k":"v"}}"#),
        (.legacy, .legacy, .topic, "news", #"{"to":"/topics/news","data":{"k":"v"}}"#),
        (.legacy, .legacy, .condition, "\"\\", #"{"condition":"\"\\","data":{"k":"v"}}"#),
    ]

    @Test(arguments: golden)
    func rendersEachKind(format: MessageFormat, transport: Transport, kind: RecipientKind, name: String, body: String)
        throws
    {
        let message = #"{ "data" : {"k" : "v"} }"#
        #expect(try rendered(message, format, over: transport, kind: kind, recipient: name) == body)
    }

    @Test func asksForValidationOnly() throws {
        #expect(
            try rendered("{}", .v1, over: .v1, validateOnly: true) == #"{"message":{"token":"T"},"validateOnly":true}"#
        )
        #expect(try rendered("{}", .legacy, over: .legacy, validateOnly: true) == #"{"to":"T","dry_run":true}"#)
        #expect(try rendered("{}", .v1, over: .legacy, validateOnly: true) == #"{"to":"T","dry_run":true}"#)
        #expect(
            try rendered(#"{"dry_run":false}"#, .legacy, over: .legacy, validateOnly: true)
                == #"{"to":"T","dry_run":true}"#
        )
    }

    @Test func passesEveryV1FieldThroughUntouched() throws {
        let message =
            #"{"name":"n","data":{"k":"é\u0000"},"notification":{"title":"t","body":"b","image":"i"},"#
            + #""android":{"collapse_key":"c","ttl":"3.5s","data":{},"fcmOptions":{"analyticsLabel":"l"},"#
            + #""notification":{"lightSettings":{"color":{"red":0.10,"alpha":1e0},"lightOnDuration":"1s"},"#
            + #""vibrate_timings":["1s"],"notificationCount":3,"sticky":true,"eventTime":"2026-01-01T00:00:00Z"}},"#
            + #""webpush":{"headers":{"TTL":"1"},"notification":{"actions":[{"a":null}]}},"#
            + #""apns":{"headers":{"apns-expiration":"12"},"payload":{"aps":{"alert":"x"},"n":123456789012345678901},"#
            + #""live_activity_token":"x"},"fcmOptions":{"analyticsLabel":"l"}}"#
        let body = try rendered(message, .v1, over: .v1)
        #expect(body == #"{"message":{"token":"T","# + message.dropFirst() + "}")
    }

    @Test func legacyOverLegacyTurnsDataIntoTextAndKeepsTheRest() throws {
        let message = #"{"unheard_of":[1],"data":{"a":1,"b":[true, {"c":"d"}]},"priority":"high"}"#
        #expect(
            try rendered(message, .legacy, over: .legacy)
                == #"{"to":"T","unheard_of":[1],"data":{"a":"1","b":"[true,{\"c\":\"d\"}]"},"priority":"high"}"#
        )
    }

    @Test func computesTheExpiryAtEachAttempt() throws {
        let template = try RequestTemplate(
            SourceMessage(
                Array(#"{"time_to_live":60,"notification":{"title":"x"},"dry_run":true}"#.utf8),
                format: .legacy,
                validateOnly: false,
                delivery: .replace,
                jobID: "j"
            ),
            transport: .v1
        )
        for (now, expiry) in [(Int64(0), "60"), (1_700_000_000_999, "1700000060")] {
            var body: [UInt8] = []
            template.render(kind: .token, recipient: "T", nowMs: now, into: &body)
            let root = try #require(try JSONParser.parse(body).object)
            let headers = root["message"]?.object?["apns"]?.object?["headers"]?.object
            #expect(headers?["apns-expiration"] == .string(expiry))
            #expect(headers?.duplicateKey == nil)
            #expect(root["validateOnly"] == true)
        }
    }

    @Test func rendersAMulticastInOrder() throws {
        let template = try RequestTemplate(
            SourceMessage(
                Array(#"{"data":{"k":"v"}}"#.utf8),
                format: .v1,
                validateOnly: false,
                delivery: .atLeastOnce,
                jobID: "j"
            ),
            transport: .legacy
        )
        let tokens = (0..<1_000).map { "t:\($0)" }
        var body: [UInt8] = []
        template.renderMulticast(tokens.map { SharedText($0) }, nowMs: 0, into: &body)
        let root = try #require(try JSONParser.parse(body).object)
        #expect(root["registration_ids"]?.array?.compactMap(\.string) == tokens)
        #expect(root["data"] == .object(["k": "v"]))
        #expect(root["to"] == nil)
    }

    static let lifetimes: [(String, MessageFormat, Int64?, Int64?)] = [
        ("{}", .v1, nil, nil), (#"{"android":{"ttl":"3.9s"}}"#, .v1, 3_000, nil),
        (#"{"android_v2":{"ttl":"0s"}}"#, .v1, 0, nil), (#"{"android":{"ttl":"3.s"}}"#, .v1, 3_000, nil),
        (#"{"android":{"ttl":"3s5s"}}"#, .v1, nil, nil), (#"{"android":{"ttl":"3.5.1s"}}"#, .v1, nil, nil),
        (#"{"android":{"ttl":".5s"}}"#, .v1, nil, nil), (#"{"android":{"ttl":"s"}}"#, .v1, nil, nil),
        (#"{"android":{"ttl":"1234567890123s"}}"#, .v1, nil, nil),
        (#"{"android":{"ttl":"5s"},"webpush":{"headers":{"ttl":"7"}}}"#, .v1, 7_000, nil),
        (#"{"apns":{"headers":{"apns-expiration":"0"}}}"#, .v1, 0, nil),
        (#"{"apns":{"headers":{"apns-expiration":"1004"}}}"#, .v1, nil, 1_004_000),
        (#"{"android":{"ttl":"5s"},"apns":{"headers":{"apns-expiration":"1004"}}}"#, .v1, 5_000, 1_004_000),
        (#"{"android":{"ttl":"soon"},"webpush":{"headers":{"TTL":"-1"}}}"#, .v1, nil, nil),
        (#"{"apns":{"headers":{"apns-expiration":"9223372036854775807"}}}"#, .v1, nil, nil),
        (#"{"time_to_live":9}"#, .legacy, 9_000, nil), (#"{"time_to_live":0}"#, .legacy, 0, nil),
    ]

    @Test(arguments: lifetimes)
    func knowsTheMessagesOwnLifetime(message: String, format: MessageFormat, relative: Int64?, absolute: Int64?) throws
    {
        let template = try RequestTemplate(
            SourceMessage(Array(message.utf8), format: format, validateOnly: false, delivery: .atLeastOnce, jobID: "j"),
            transport: format == .v1 ? .v1 : .legacy
        )
        #expect(template.lifetime?.relativeMs == relative)
        #expect(template.lifetime?.absoluteMs == absolute)
        let left = absolute.map { $0 - 1_000_000 }
        #expect(template.lifetime?.milliseconds(firstAttemptMs: 1_000_000) == [relative, left].compactMap { $0 }.max())
        #expect(template.lifetime?.milliseconds(firstAttemptMs: 2_000_000) == (relative ?? absolute.map { _ in 0 }))
    }

    /// Whatever the message, format and recipient, the body is JSON and holds the recipient.
    @Test func everyBodyParsesAndHoldsItsRecipient() throws {
        var state: UInt64 = 7
        func pick<T>(_ values: [T]) -> T {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return values[Int(state >> 33) % values.count]
        }
        for _ in 0..<3_000 {
            let format = pick([MessageFormat.v1, .legacy])
            var parts = [pick([#""notification":{"title":"a\"b"}"#, #""notification":{"body":"é"}"#, ""])]
            parts.append(pick(["", #""data":{"k":"\\"}"#]))
            if format == .legacy {
                parts.append(pick(["", #""time_to_live":\#(pick([0, 1, 2_419_200]))"#]))
                parts.append(pick(["", #""collapse_key":"a/b""#]))
            }
            let message = "{" + parts.filter { !$0.isEmpty }.joined(separator: ",") + "}"
            let transport = pick([Transport.v1, .legacy])
            let kind = pick([RecipientKind.token, .topic, .condition, .group])
            let name = pick(["abc:DEF_-1", "'a' in topics || 'b' in topics", "\"\\\u{1}é"])
            let body = try rendered(
                message,
                format,
                over: transport,
                kind: kind,
                recipient: name,
                validateOnly: pick([true, false]),
                delivery: pick([.atLeastOnce, .replace])
            )
            let root = try #require(try JSONParser.parse(Array(body.utf8)).object)
            #expect(root.duplicateKey == nil)
            let held: JSONValue?
            if transport == .v1 {
                held = root["message"]?.object?[kind == .group ? "token" : kind.rawValue]
            } else {
                held = root[kind == .condition ? "condition" : "to"]
            }
            #expect(held == .string(transport == .legacy && kind == .topic ? "/topics/" + name : name), "\(body)")
        }
    }
}
