import FanfareCore
import FanfareModel
import RedisTransport
import StreamWire
import Testing

@testable import EventLoop
@testable import FanfareWorker

/// When a record of the history is written, and which one.
@Suite struct HistoryRecorderTests {
    private let bench: DriverBench
    private let recorder: HistoryRecorder

    init() throws {
        bench = try DriverBench()
        recorder = HistoryRecorder(project: bench.context, gauges: bench.runner.gauges)
    }

    private func count(_ status: ResultStatus) {
        bench.context.meters.count(.finished(status, nil, maybeDup: false))
    }

    private func words(_ number: Int, _ counts: [String] = []) -> [String] {
        ["write_history", DriverBench.name, String(number), FanfareVersion.current] + counts
    }

    @Test func firstRecordTellsThatTheWorkerHasStarted() {
        recorder.write()
        #expect(bench.redis.waiting.map(\.words) == [words(1)])
        #expect(bench.redis.waiting.first?.timeoutMs == 5_000)
    }

    @Test func recordHoldsTheCountsSinceTheOneBefore() {
        for (number, statuses) in [(1, [ResultStatus.sent, .sent]), (2, [.sent]), (3, [.failed, .sent])] {
            for status in statuses { count(status) }
            recorder.write()
            let counts = Set(statuses).sorted { $0.rawValue < $1.rawValue }.flatMap { status in
                [status.rawValue, String(statuses.count { $0 == status })]
            }
            #expect(bench.redis.waiting.map(\.words) == [words(number, counts)])
            bench.redis.answer(.text("ok"))
        }
    }

    @Test func idleProjectWritesNothing() {
        recorder.write()
        bench.redis.answer(.text("ok"))
        recorder.write()
        #expect(bench.redis.waiting.isEmpty)
    }

    /// The backlog of a project that sends nothing is shown, too.
    @Test func waitingRecipientsAreRecorded() {
        recorder.write()
        bench.redis.answer(.text("ok"))
        bench.runner.gauges.update()
        bench.redis.answer(.pairs(["now_ms": .integer(1), "left": .integer(7)]))
        recorder.write()
        #expect(bench.redis.waiting.map(\.words) == [words(2)])
    }

    @Test(arguments: ["refused", "lost", "fenced"]) func recordWithoutConfirmationIsRepeatedAsItWas(_ end: String) {
        count(.sent)
        recorder.write()
        switch end {
        case "refused": bench.redis.refuse()
        case "lost":
            bench.redis.lose()
            bench.redis.becomeReady()
        default: bench.redis.answer(.text("fenced"))
        }
        count(.sent)
        bench.context.isReady = true
        recorder.write()
        #expect(bench.redis.waiting.map(\.words) == [words(1, ["sent", "1"])])
        bench.redis.answer(.text("ok"))
        recorder.write()
        #expect(bench.redis.waiting.map(\.words) == [words(2, ["sent", "1"])])
    }

    @Test func nextRecordWaitsForTheAnswer() {
        recorder.write()
        count(.sent)
        recorder.write()
        #expect(bench.redis.names == ["write_history"])
    }

    @Test(arguments: ["connection", "comparison"]) func nothingIsWrittenWithout(_ condition: String) {
        if condition == "connection" { bench.redis.lose() } else { bench.context.isReady = false }
        recorder.write()
        #expect(bench.redis.names == [] && bench.redis.namesWhileAway == [])
    }

    @Test func recordIsWrittenInEachSlotOfTenSeconds() {
        recorder.start()
        bench.loop.advance(milliseconds: 10_000)
        #expect(bench.redis.removeNames() == ["write_history"])
        bench.redis.answer(.text("ok"))
        count(.sent)
        bench.loop.advance(milliseconds: 10_000)
        #expect(bench.redis.removeNames() == ["write_history"])
    }

    @Test func workerThatLeavesWritesTheLastRecord() {
        bench.runner.leave {}
        #expect(bench.redis.names == ["write_history", "deregister"])
    }
}
