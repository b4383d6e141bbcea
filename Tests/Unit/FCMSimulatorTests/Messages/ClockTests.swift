import FanfareJSON
import Testing

@testable import FCMSimulator

@Suite struct ClockTests {
    /// One long step, or many short ones, and everything happens at the same times.
    @Test(arguments: [1, 7, 60, 1_000]) func `one clock step delivers the same as many small ones`(steps: Int) throws {
        func run(_ steps: Int) throws -> (deliveries: [String: [String]], stats: String) {
            var trial = Trial(fanoutRate: 1)
            try trial.device(#"{"token":"slow","app_state":"background","normal_delay_ms":250000}"#)
            try trial.device(#"{"token":"sub","topics":["t"],"app_state":"background","normal_delay_ms":100000}"#)
            for mark in 0..<25 {
                let rest = #""data":{"k":"\#(mark)"},"android":{"collapse_key":"\#(mark % 3)"}"#
                trial.message(to: "busy", rest)
                trial.message(to: "slow", #""data":{"k":"\#(mark)"},"android":{"ttl":"\#(240 + mark)s"}"#)
            }
            try trial.device(#"{"topic":"t","subscribers":299}"#)
            for mark in 0..<3 { _ = trial.v1(#"{"message":{"topic":"t","data":{"k":"\#(mark)"}}}"#) }
            let total: Int64 = 3_600_000
            for step in 1...Int64(steps) {
                try trial.advance(total * step / Int64(steps) - total * (step - 1) / Int64(steps))
            }
            var lines: [String: [String]] = [:]
            for token in ["busy", "slow", "sub"] {
                lines[token] = trial.received(token).map { "\($0.timeMs - trial.nowMs) \($0.mark ?? "")" }
            }
            return (lines, try trial.control("GET", "/stats").json()["dropped"]?.jsonText ?? "")
        }
        let once = try run(1)
        #expect(once.deliveries["busy"]?.count == 23)
        #expect(once.deliveries["slow"]?.first == "250000 11")
        #expect(once.deliveries["sub"]?.count == 3)
        let cut = try run(steps)
        #expect(cut.deliveries == once.deliveries)
        #expect(cut.stats == once.stats)
    }

    @Test func `a send happens after everything that was due before it`() throws {
        var trial = Trial()
        for _ in 0..<21 { trial.message(to: "a", #""notification":{"title":"T"},"data":{"k":"old"}"#) }
        trial.nowMs += 180_000
        trial.message(to: "a", #""notification":{"title":"T"},"data":{"k":"new"}"#)
        // The slot went to the one that waited for it, and did not collapse.
        #expect(trial.received("a").count == 21)
        #expect(try trial.dropped(.collapsed) == 0)
        #expect(try trial.stored("a").count == 1)
    }

    @Test func `a reset forgets devices, stored messages and throttles`() throws {
        var trial = Trial()
        try trial.device(#"{"token":"a","online":false}"#)
        for _ in 0..<25 { trial.message(to: "b", #""notification":{"title":"T"}"#) }
        trial.message(to: "a")
        trial.control("POST", "/reset")
        #expect(try trial.statistic("stored") == 0)
        #expect(try trial.shown("a")["online"] == true)
        #expect(try trial.shown("b")["buckets"]?.object?["collapsible_left"] == 20)
        try trial.advance(day)
        #expect(try trial.statistic("delivered") == 0)
    }
}
