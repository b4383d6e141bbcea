import Logging
import RedisTransport
import StreamWire
import TestSupport
import Testing

@testable import EventLoop
@testable import FanfareWorker

/// How a running project comes to its end.
@Suite struct ProjectTransitionTests {
    private final class Calls { var ends = 0 }

    private let bench: DriverBench
    private let transition: ProjectTransition
    private let calls = Calls()

    private static let drainMs: Int64 = 1_000

    init() throws {
        bench = try DriverBench()
        bench.writer.open(isSameServer: true)
        transition = ProjectTransition(bench.runner, drainMs: Self.drainMs) { [calls] in calls.ends += 1 }
    }

    private var isLeaving: Bool { bench.redis.waiting.contains { $0.name == "deregister" } }

    /// Answers the last calls of the project.
    private func answerAll() { bench.redis.serve { _ in .pairs(["outcome": .text("ok")]) } }

    @Test func idleProjectLeavesAtOnce() {
        transition.start()
        #expect(isLeaving && calls.ends == 0)
        answerAll()
        #expect(calls.ends == 1 && bench.heard.messages == [])
        #expect(bench.leases.held.isEmpty)
    }

    @Test func projectWithoutAConnectionDoesNotDeregister() {
        bench.redis.lose()
        transition.start()
        #expect(calls.ends == 1 && bench.redis.namesWhileAway == [])
    }

    @Test func projectWaitsForItsResults() {
        bench.writer.write(DriverBench.flush("a"))
        bench.loop.advance()
        transition.start()
        bench.loop.advance(milliseconds: 500)
        #expect(!isLeaving)
        answerAll()
        bench.loop.advance(milliseconds: 5)
        #expect(isLeaving && bench.heard.messages == [])
    }

    /// They would be lost with the project.
    @Test func resultsAreAwaitedAfterTheDrainsTime() {
        bench.writer.write(DriverBench.flush("a"))
        bench.loop.advance()
        transition.start()
        bench.loop.advance(milliseconds: 30_000)
        #expect(!isLeaving)
        #expect(bench.heard.messages.count == 1 && bench.heard.lines.first?.level == .warning)
        #expect(bench.heard.metadata.first?["waits_for"] == "results to be confirmed")
        answerAll()
        bench.loop.advance(milliseconds: 5)
        answerAll()
        #expect(calls.ends == 1)
    }

    @Test func projectLeavesAfterTheDrainsTimeWithoutItsClaim() {
        bench.claimer.claim()
        transition.start()
        bench.loop.advance(milliseconds: Self.drainMs - 5)
        #expect(!isLeaving && bench.heard.messages == [])
        bench.loop.advance(milliseconds: 5)
        #expect(isLeaving)
        #expect(bench.heard.metadata == [["waits_for": "a claim", "in_flight": "0"]])
        answerAll()
        #expect(calls.ends == 1)
    }
}
