import FanfareJSON
import Testing

@testable import FCMSimulator

/// Concept page, "throttling of collapsible messages".
@Suite struct ThrottleTests {
    @Test func `the bucket admits 20 messages at once and one every 3 minutes`() {
        var throttle = Throttle()
        for _ in 0..<20 {
            #expect(throttle.slotMs("a", nowMs: 5) == 5)
            throttle.consume("a", nowMs: 5)
        }
        #expect(throttle.left("a", nowMs: 5) == 0)
        for round in 1...3 {
            let slot = 5 + Int64(round) * 180_000
            #expect(throttle.slotMs("a", nowMs: 6) == slot)
            #expect(throttle.slotMs("a", nowMs: slot) == slot)
            #expect(throttle.left("a", nowMs: slot) == 1)
            throttle.consume("a", nowMs: slot)
        }
        #expect(throttle.slotMs("b", nowMs: 6) == 6)
        #expect(throttle.left("a", nowMs: 5 + 23 * 180_000) == 20)
    }

    @Test func `an instance is forgotten when its burst is back`() {
        var throttle = Throttle()
        for index in 0..<10_000 { throttle.consume("t\(index)", nowMs: 0) }
        throttle.consume("a", nowMs: 1)
        throttle.consume("a", nowMs: 1)
        #expect(throttle.watchedCount == 10_001)
        throttle.consume("b", nowMs: 180_000)
        #expect(throttle.watchedCount == 2)
        #expect(throttle.left("a", nowMs: 180_001) == 19)
    }

    @Test func `the 21st notification is accepted and delivered three minutes later`() throws {
        var trial = Trial()
        for mark in 1...21 {
            #expect(trial.message(to: "a", #""notification":{"title":"T"},"data":{"k":"\#(mark)"}"#).status == 200)
        }
        #expect(trial.received("a").count == 20)
        try trial.advance(180_000 - 1)
        #expect(trial.received("a").count == 20)
        try trial.advance(1_000)
        #expect(trial.received("a").last?.mark == "21")
        #expect(trial.times("a").last == 180_000)
        #expect(trial.received("a").last?.accepted.acceptedMs == trial.nowMs)
    }

    @Test func `throttled messages collapse by key, and keys are delivered in turn`() throws {
        var trial = Trial()
        for mark in 1...20 { trial.message(to: "a", #""data":{"k":"\#(mark)"},"android":{"collapse_key":"x"}"#) }
        for mark in 21...24 {
            let key = mark % 2 == 0 ? "y" : "x"
            trial.message(to: "a", #""data":{"k":"\#(mark)"},"android":{"collapse_key":"\#(key)","priority":"high"}"#)
        }
        #expect(try trial.stored("a").count == 2)
        try trial.advance(1_000_000)
        #expect(trial.received("a").dropFirst(20).map(\.mark) == ["23", "24"])
        #expect(Array(trial.times("a").dropFirst(20)) == [180_000, 360_000])
    }

    @Test func `messages that are never stored or do not collapse are not throttled`() throws {
        var trial = Trial()
        for _ in 0..<30 {
            trial.message(to: "a", #""android":{"collapse_key":"x","ttl":"0s"}"#)
            trial.message(to: "a")
        }
        #expect(trial.received("a").count == 60)
        #expect(try trial.shown("a")["buckets"]?.object?["collapsible_left"] == 20)
    }

    @Test func `a throttled message can expire`() throws {
        var trial = Trial()
        for _ in 0..<21 { trial.message(to: "a", #""notification":{"title":"T"},"android":{"ttl":"180s"}"#) }
        try trial.advance(180_000)
        #expect(trial.received("a").count == 20)
        #expect(try trial.dropped(.expired) == 1)
    }

    @Test func `only delivered messages count against the burst`() throws {
        var trial = Trial()
        try trial.device(#"{"token":"a","online":false}"#)
        for _ in 0..<50 { trial.message(to: "a", #""notification":{"title":"T"}"#) }
        try trial.device(#"{"token":"a","online":true}"#)
        #expect(trial.received("a").count == 1)
        #expect(try trial.shown("a")["buckets"]?.object?["collapsible_left"] == 19)
    }
}
