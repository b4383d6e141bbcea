import FanfareModel
import Testing

@testable import FanfareCore

/// Which requests become one job, and when.
@Suite struct JoinWindowTests {
    private typealias Job = JoinWindow.Job
    private var window = JoinWindow()

    private func key(_ message: String = "{}", key: String = "k") -> JoinKey {
        JoinKey(key: key, project: "p", kind: .token, message: Array(message.utf8))
    }

    private mutating func add(
        _ request: UInt64,
        _ recipients: [String],
        _ key: JoinKey? = nil,
        at ms: UInt64 = 0
    ) -> [Job] {
        window.add(request, recipients, to: key ?? self.key(), nowNs: ms * 1_000_000)
    }

    private mutating func close(at ms: UInt64) -> [Job] { window.close(nowNs: ms * 1_000_000) }

    @Test mutating func requestsThatArriveTogetherAreOneJob() {
        #expect(add(1, ["a"]).isEmpty && add(2, ["b", "c"], at: 4).isEmpty)
        #expect(window.nextNs == 5_000_000 && close(at: 4).isEmpty)
        let jobs = close(at: 5)
        #expect(jobs == [Job(key: key(), recipients: ["a", "b", "c"], requests: [(1, 0..<1), (2, 1..<3)])])
        #expect(window.nextNs == nil && close(at: 100).isEmpty)
    }

    @Test mutating func requestsThatDifferAreJobsOfTheirOwn() {
        var others = [key(#"{"data":{}}"#), key(key: "other"), key(), key(), key(), key(), key(), key()]
        others[2].project = "q"
        others[3].kind = .fid
        others[4].validateOnly = true
        others[5].priority = 9
        others[6].delivery = .atMostOnce
        others[7].expiresAt = 5
        #expect(add(0, ["a"]).isEmpty)
        for (number, other) in others.enumerated() { #expect(add(UInt64(number + 1), ["b"], other).isEmpty) }
        #expect(close(at: 5).map(\.requests.count) == Array(repeating: 1, count: 9))
    }

    @Test mutating func tracesSplitNoJobAndTheFirstCounts() {
        let parents = ["1", "2"].map { "00-\(String(repeating: $0, count: 32))-00f067aa0ba902b7-01" }
        for (number, parent) in parents.enumerated() {
            var key = key()
            key.trace = TraceHeaders(["traceparent": parent])
            #expect(add(UInt64(number), ["\(number)"], key).isEmpty)
        }
        #expect(close(at: 5).map(\.key.trace?.parent) == [parents[0]])
    }

    @Test mutating func fullWindowIsPushedAtOnce() {
        let most = (0..<JoinWindow.maximumRecipients).map(String.init)
        #expect(add(1, Array(most.prefix(999))).isEmpty)
        #expect(add(2, ["x"]).map(\.recipients.count) == [1_000] && window.nextNs == nil)
        #expect(add(3, ["y"]).isEmpty)
        // What does not fit is the next job, and is full itself.
        #expect(add(4, most).map(\.recipients.count) == [1, 1_000] && window.nextNs == nil)
    }

    @Test mutating func repeatedRecipientBeginsTheNextJob() {
        #expect(add(1, ["a"]).isEmpty)
        #expect(add(2, ["b", "a"], at: 3) == [Job(key: key(), recipients: ["a"], requests: [(1, 0..<1)])])
        #expect(close(at: 7).isEmpty && close(at: 8).map(\.recipients) == [["b", "a"]])
    }

    @Test mutating func requestWhoseClientLeftIsNotSent() {
        let added: [(UInt64, [String])] = [(1, ["a"]), (2, ["b", "c"]), (3, ["d"])]
        for (request, recipients) in added {
            #expect(add(request, recipients).isEmpty)
        }
        #expect(window.remove(2) && !window.remove(2))
        #expect(add(4, ["b"]).isEmpty)
        let requests: [(UInt64, Range<Int64>)] = [(1, 0..<1), (3, 1..<2), (4, 2..<3)]
        #expect(close(at: 5) == [Job(key: key(), recipients: ["a", "d", "b"], requests: requests)])
        #expect(add(5, ["a"]).isEmpty && window.remove(5) && window.nextNs == nil)
    }
}
