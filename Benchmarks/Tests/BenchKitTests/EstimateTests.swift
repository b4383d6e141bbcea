import Foundation
import Testing

@testable import BenchKit

struct EstimateTests {
    /// A line of `fanfare top --json`, `seconds` after the start of a job that ends after 100 s.
    private func line(_ seconds: Int, left: String, sent: Int = 500, state: String = "active") throws
        -> EstimateContender.Line
    {
        let job = #"{"id":"measured","state":"\#(state)","total":1000,"sent":\#(sent),"started_ms":1000\#(left)}"#
        let list = #""active":[],"waiting":[],"others":[\#(job)]"#
        let text = #"{"now_ms":\#(1_000 + 1_000 * seconds),"projects":[{"id":"p",\#(list)}]}"#
        return try JSONDecoder().decode(EstimateContender.Line.self, from: Data(text.utf8))
    }

    private func errors(_ lines: [EstimateContender.Line]) -> [Double] {
        EstimateContender.errors(lines, of: "measured", endMs: 101_000)
    }

    @Test func errorsAreThoseOfTheEstimates() throws {
        #expect(errors([try line(20, left: #","left_seconds":80"#)]) == [0])
        #expect(errors([try line(50, left: #","left_seconds":60"#)]).map { $0.rounded() } == [20])
        #expect(errors([try line(50, left: "")]) == [100], "no estimate")
    }

    @Test func firstSecondsAndTheLastTenthDoNotCount() throws {
        let lines = [try line(9, left: ""), try line(95, left: "", sent: 901), try line(101, left: "")]
        #expect(errors(lines) == [])
    }

    @Test func secondsBeforeAStopAndTheFirstAfterItDoNotCount() throws {
        let lines = [
            try line(15, left: #","left_seconds":1"#), try line(20, left: "", state: "paused"),
            try line(25, left: #","left_seconds":1"#), try line(30, left: #","left_seconds":70"#),
        ]
        #expect(errors(lines) == [0])
    }
}
