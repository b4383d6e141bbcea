import FanfareJSON
import Testing

@testable import FCMSimulator

/// Concept page, "lifetime of a message" and "life of a message".
@Suite struct LifetimeTests {
    @Test func `a message for an offline device is delivered when it connects`() throws {
        var trial = Trial()
        try trial.device(#"{"token":"a","online":false}"#)
        for mark in 1...3 { #expect(trial.message(to: "a", #""data":{"k":"\#(mark)"}"#).status == 200) }
        #expect(trial.received("a").isEmpty)
        #expect(try trial.statistic("stored") == 3)
        try trial.advance(day)
        try trial.device(#"{"token":"a","online":true}"#)
        #expect(trial.received("a").map(\.mark) == ["1", "2", "3"])
        #expect(trial.times("a") == [day, day, day])
        #expect(trial.received("a").map { $0.timeMs - $0.accepted.acceptedMs } == [day, day, day])
        #expect(try trial.statistic("stored") == 0)
        #expect(try trial.statistic("delivered") == 3)
    }

    @Test(arguments: [
        ("a", #""android":{"ttl":"60s"}"#, 60 * second), ("a", #""android":{"ttl":"1.5s"}"#, 1_500),
        ("a", #""data":{"k":"v"}"#, 28 * day), ("a", #""androidV2":{"ttl":"60s"}"#, 60 * second),
        ("sbx-web-1", #""webpush":{"headers":{"TTL":"60"}}"#, 60 * second), ("sbx-web-1", #""data":{}"#, 28 * day),
        ("sbx-apple-1", #""apns":{"headers":{"apns-expiration":"1800000060"}}"#, 60 * second),
        ("sbx-apple-1", #""data":{}"#, 30 * day),
    ])
    func `a stored message is dropped when its lifetime ends, and not before`(
        token: String,
        rest: String,
        lifetime: Int64
    ) throws {
        for extra in [Int64(-1), 0] {
            var trial = Trial()
            try trial.device(#"{"token":"\#(token)","online":false}"#)
            #expect(trial.message(to: token, rest).status == 200)
            try trial.advance(lifetime + extra)
            #expect(try trial.statistic("stored") == (extra < 0 ? 1 : 0))
            #expect(try trial.dropped(.expired) == (extra < 0 ? 0 : 1))
            try trial.device(#"{"token":"\#(token)","online":true}"#)
            #expect(trial.received(token).count == (extra < 0 ? 1 : 0))
        }
    }

    @Test(arguments: ["a", "sbx-apple-1", "sbx-web-1"])
    func `a legacy lifetime applies on every platform`(token: String) throws {
        var trial = Trial()
        try trial.device(#"{"token":"\#(token)","online":false}"#)
        _ = trial.legacy(#"{"to":"\#(token)","time_to_live":60,"data":{"k":"v"}}"#)
        _ = trial.legacy(#"{"to":"\#(token)","time_to_live":0,"data":{"k":"v"}}"#)
        #expect(try trial.statistic("stored") == 1)
        #expect(try trial.dropped(.nowOrNever) == 1)
        try trial.advance(60 * second)
        #expect(try trial.dropped(.expired) == 1)
    }

    @Test func `a plain-text lifetime applies`() throws {
        var trial = Trial()
        try trial.device(#"{"token":"a","online":false}"#)
        let type = "application/x-www-form-urlencoded;charset=UTF-8"
        _ = trial.legacy("registration_id=a&data.k=v&time_to_live=60", contentType: type)
        _ = trial.legacy("registration_id=a&data.k=v&time_to_live=0", contentType: type)
        #expect(try trial.stored("a").count == 1)
        try trial.advance(60 * second)
        #expect(try trial.stored("a").isEmpty)
    }

    @Test(arguments: [
        ("a", #""android":{"ttl":"0s"}"#), ("sbx-web-1", #""webpush":{"headers":{"ttl":"0"}}"#),
        ("sbx-apple-1", #""apns":{"headers":{"apns-expiration":"0"}}"#),
        ("sbx-apple-1", #""apns":{"headers":{"apns-expiration":"1799999999"}}"#),
    ])
    func `a message with lifetime 0 is delivered at once or dropped`(token: String, rest: String) throws {
        var trial = Trial()
        #expect(trial.message(to: token, rest).status == 200)
        #expect(trial.received(token).count == 1)
        try trial.device(#"{"token":"\#(token)","online":false}"#)
        #expect(trial.message(to: token, rest).status == 200)
        try trial.device(#"{"token":"\#(token)","online":true}"#)
        #expect(trial.received(token).count == 1)
        #expect(try trial.dropped(.nowOrNever) == 1)
    }

    @Test func `an expiry beyond the range of time does not overflow`() throws {
        var trial = Trial()
        try trial.device(#"{"token":"sbx-apple-1","online":false}"#)
        let rest = #""apns":{"headers":{"apns-expiration":"9223372036854775807"}}"#
        #expect(trial.message(to: "sbx-apple-1", rest).status == 200)
        try trial.advance(3_650 * day)
        #expect(try trial.stored("sbx-apple-1").count == 1)
    }

    @Test func `a topic message's lifetime starts at its acceptance, not at the end of its fan-out`() throws {
        var trial = Trial(fanoutRate: 1)
        try trial.device(#"{"token":"a","topics":["t"],"online":false}"#)
        try trial.device(#"{"topic":"t","subscribers":99}"#)
        _ = trial.v1(#"{"message":{"topic":"t","android":{"ttl":"150s"}}}"#)
        try trial.advance(100 * second)
        #expect(try trial.stored("a").first?["expires_ms"]?.number?.int64 == trial.nowMs + 150 * second)
        try trial.advance(50 * second)
        #expect(try trial.stored("a").isEmpty)
    }

    @Test func `a dry run stores and delivers nothing`() throws {
        var trial = Trial()
        try trial.device(#"{"token":"a","online":false}"#)
        try trial.device(#"{"token":"gone","state":"uninstalled"}"#)
        try trial.device(#"{"token":"apple","platform":"apple","rate_per_minute":1}"#)
        for token in ["a", "gone", "apple"] {
            for _ in 0..<30 {
                let notification = #""notification":{"title":"T"}"#
                #expect(
                    trial.v1(#"{"validate_only":true,"message":{"token":"\#(token)",\#(notification)}}"#).status == 200
                )
                #expect(try trial.legacy(#"{"to":"\#(token)","dry_run":true,\#(notification)}"#).results() == ["ok"])
            }
            let device = try trial.shown(token)
            #expect(device["stored"] == .array([]))
            #expect(device["buckets"]?.object?["minute"] == 0)
            #expect(device["buckets"]?.object?["collapsible_left"] == 20)
        }
        #expect(try trial.shown("gone")["state"] == "uninstalled")
        #expect(trial.message(to: "apple").status == 200)
        #expect(trial.message(to: "apple").status == 429)
    }
}
