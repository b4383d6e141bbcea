import FanfareConfiguration
import FanfareModel
import Logging
import RedisTransport
import StreamWire
import TestSupport
import Testing

@testable import EventLoop
@testable import FanfareWorker

/// Projects that have jobs and no worker, by the answers of Redis.
@Suite struct UnservedWatchTests {
    private let loop: EventLoop
    private let redis = FakeConnection()
    private let heard = HeardLog()
    private let watch: UnservedWatch

    init() throws {
        loop = try EventLoop()
        let configuration = WorkerConfiguration(
            settings: Configuration(),
            redis: .sample,
            projects: [.legacy("p")],
            name: "w"
        )
        watch = UnservedWatch(loop: loop, redis: redis, configuration: configuration, logger: heard.logger)
        watch.start()
        redis.becomeReady()
    }

    /// The time of Redis in the answers, Unix milliseconds.
    private static let nowMs: Int64 = 1_700_000_100_000

    /// Checks after 15 s, and answers what is asked.
    private func check(_ projects: [String], workers: Int64 = 0, entries: Int64 = 2, waitMs: Int64 = 60_000) {
        loop.advance(milliseconds: 15_000)
        redis.serve { command in
            switch command.name {
            case "SMEMBERS": .array(projects.map { .text($0) })
            case "overview":
                .pairs(["now_ms": .integer(Self.nowMs), "workers": .integer(workers), "entries": .integer(entries)])
            default: .pairs(["now_ms": .integer(Self.nowMs), "oldest_ms": .integer(waitMs)])
            }
        }
    }

    @Test func registerIsReadEveryFifteenSeconds() {
        loop.advance(milliseconds: 14_999)
        #expect(redis.waiting.isEmpty)
        loop.advance(milliseconds: 1)
        #expect(redis.waiting.map(\.words) == [["SMEMBERS", "fanfare:projects"]])
    }

    @Test func projectWithoutAWorkerIsReportedOnceItLasts() {
        check(["p", "q"])
        #expect(heard.messages == [], "a worker may be starting")
        check(["p", "q"])
        #expect(heard.lines.map(\.level) == [.warning])
        let since = CalendarTime(unixMs: Self.nowMs - 60_000).rfc3339
        #expect(heard.metadata.first == ["project": "q", "jobs": "2", "since": "\(since)"])
        check(["p", "q"], workers: 1)
        #expect(heard.lines.map(\.level) == [.warning, .notice])
        #expect(heard.metadata.last?["since"] == "\(since)")
    }

    @Test(arguments: [["p"], ["no project's id\n"], []]) func otherNamesAreNotRead(_ projects: [String]) {
        for _ in 0..<3 { check(projects) }
        #expect(Set(redis.names) == ["SMEMBERS"])
        #expect(heard.messages == [])
    }

    @Test func projectWithoutJobsNeedsNoWorker() {
        for _ in 0..<3 { check(["q"], entries: 0) }
        #expect(!redis.names.contains("fleet") && heard.messages == [])
    }

    /// Workers had begun every job: since when it waits is known from the first check only.
    @Test func jobsThatWereBegunWaitSinceTheFirstCheck() {
        for _ in 0..<2 { check(["q"], waitMs: 0) }
        #expect(heard.metadata.first?["since"] == "\(CalendarTime(unixMs: Self.nowMs).rfc3339)")
    }

    @Test func projectThatLeftTheRegisterIsForgotten() {
        for _ in 0..<2 { check(["q"]) }
        check([])
        for _ in 0..<2 { check(["q"]) }
        #expect(heard.lines.map(\.level) == [.warning, .warning], "it is new again, and no recovery was seen")
    }

    @Test func projectsThatThisWorkerTakesUpAreItsOwn() {
        check(["q"])
        watch.own.insert("q")
        _ = redis.removeNames()
        check(["q"])
        #expect(redis.names == ["SMEMBERS"] && heard.messages == [])
    }

    @Test func nothingIsReadWithoutAConnection() {
        redis.lose()
        loop.advance(milliseconds: 60_000)
        #expect(redis.namesWhileAway == [])
    }
}
