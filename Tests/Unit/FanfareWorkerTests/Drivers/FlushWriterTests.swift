import FanfareModel
import RedisTransport
import StreamWire
import TestSupport
import Testing

@testable import EventLoop
@testable import FanfareCore
@testable import FanfareWorker

/// The order of writes around a new connection, and what becomes of each answer.
@Suite struct FlushWriterTests {
    private static let ok = RedisValue.pairs(["outcome": .text("ok")])
    private let bench: DriverBench
    private var writer: FlushWriter { bench.writer }

    init() throws {
        bench = try DriverBench()
        // Otherwise the project's keys are checked after an error.
        bench.context.redis.onRefused = { _ in }
    }

    /// What the writer told the machine, and the comparisons that the test was asked for.
    private final class Events { var list: [String] = [] }

    private func listen() -> Events {
        let events = Events()
        writer.onAnswer = { event in
            switch event {
            case .flushed(let flush, .ok): events.list.append("\(flush.source.job) ok")
            case .flushed(let flush, let reply): events.list.append("\(flush.source.job) \(reply)")
            case .replay(let flush): events.list.append("replay \(flush.source.job)")
            default: events.list.append("other")
            }
        }
        writer.onConfirmed = { events.list.append("confirmed") }
        return events
    }

    private func reconnect(isSameServer: Bool = true, _ events: Events? = nil) {
        if bench.redis.state != .ready { bench.redis.becomeReady() }
        writer.open(isSameServer: isSameServer)
        events?.list.append("compare")
        bench.redis.send(RedisCommand("COMPARE")) { _ in }
        writer.writeAgain()
    }

    private func lose() {
        bench.redis.lose()
        writer.cut()
    }

    /// The job of each flush in flight, in the order of the commands.
    private var jobs: [String] {
        bench.loop.advance()
        return bench.redis.waiting.flatMap { sent -> [String] in
            switch sent.name {
            case "record": return [sent.words[1]]
            case "records":
                var (jobs, at) = ([String](), 1)
                while at < sent.words.count, let count = Int(sent.words[at]) {
                    jobs.append(sent.words[at + 1])
                    at += count + 1
                }
                return jobs
            default: return [sent.name]
            }
        }
    }

    // MARK: The cut

    @Test func flushBeforeTheFirstComparisonWaitsForIt() {
        writer.write(DriverBench.flush("a"))
        bench.loop.advance(milliseconds: 10_000)
        #expect(jobs == [])
        reconnect()
        #expect(jobs == ["COMPARE", "a"])
        #expect(!writer.isIdle)
    }

    @Test func unansweredFlushesFollowTheComparisonInTheirOrder() {
        reconnect()
        for (job, results) in [("a", 1), ("b", 20), ("c", 1), ("d", 1)] {
            writer.write(DriverBench.flush(job, results: results))
        }
        #expect(jobs == ["COMPARE", "a", "b", "c", "d"])
        lose()
        writer.write(DriverBench.flush("e"))
        #expect(jobs == [])
        reconnect()
        #expect(jobs == ["COMPARE", "a", "b", "c", "d", "e"])
    }

    /// The connection is back, and the comparison waits for calls in flight: no flush may overtake it.
    @Test func nothingIsWrittenBetweenConnectionAndComparison() {
        reconnect()
        writer.write(DriverBench.flush("a"))
        bench.loop.advance()
        lose()
        bench.redis.becomeReady()
        writer.write(DriverBench.flush("b"))
        writer.checkReplicas()
        bench.loop.advance(milliseconds: 10_000)
        #expect(jobs == [])
    }

    @Test func answeredFlushIsNotWrittenAfterAReconnection() {
        reconnect()
        for job in ["a", "b"] {
            writer.write(DriverBench.flush(job, results: 20))
        }
        bench.redis.answer(.null)
        bench.redis.answer(Self.ok)
        lose()
        reconnect()
        #expect(jobs == ["COMPARE", "b"])
    }

    /// The functions were loaded again on the same connection: the flushes in flight are answered there.
    @Test func comparisonOnTheSameConnectionRepeatsNoFlushInFlight() {
        reconnect()
        bench.redis.answer(.null)
        for job in ["a", "b"] { writer.write(DriverBench.flush(job, results: 20)) }
        #expect(jobs == ["a", "b"])
        bench.redis.refuse()
        reconnect()
        #expect(jobs == ["b", "COMPARE", "a"])
        bench.loop.advance(milliseconds: 10_000)
        #expect(jobs == ["b", "COMPARE", "a"], "the repetition after the error was made already")
    }

    // MARK: Replay

    @Test func resultsThatAnotherServerMayLackPrecedeTheComparison() {
        let events = listen()
        reconnect(events)
        for job in ["a", "b"] { writer.write(DriverBench.flush(job, results: 20)) }
        for answer in [.null, Self.ok] { bench.redis.answer(answer) }
        writer.write(DriverBench.flush("c"))
        bench.loop.advance()
        lose()
        events.list = []
        reconnect(isSameServer: false, events)
        #expect(events.list == ["replay a", "compare"])
        #expect(jobs == ["COMPARE", "b", "c"])
    }

    @Test func sameServerGetsNoResultTwice() {
        let events = listen()
        reconnect(events)
        writer.write(DriverBench.flush("a"))
        bench.loop.advance()
        for answer in [.null, Self.ok] { bench.redis.answer(answer) }
        lose()
        reconnect(isSameServer: true, events)
        #expect(events.list == ["compare", "a ok", "confirmed", "compare"])
        #expect(jobs == ["COMPARE"])
    }

    /// Only what Redis has written can be forgotten by it: not what was refused, nor a late fact.
    @Test(arguments: [("stale", false), ("gone", false), ("ok", true)])
    func refusedAndLateFlushesAreNotReplayed(_ outcome: String, late: Bool) {
        let events = listen()
        reconnect()
        writer.write(DriverBench.flush("a", late: late))
        bench.loop.advance()
        for answer in [.null, RedisValue.text(outcome)] { bench.redis.answer(answer) }
        #expect(events.list == ["a \(outcome)", "confirmed"])
        lose()
        events.list = []
        reconnect(isSameServer: false, events)
        #expect(events.list == ["compare"])
    }

    // MARK: Answers

    @Test func answerEndsAFlush() {
        let events = listen()
        reconnect()
        bench.redis.answer(.null)
        writer.write(DriverBench.flush("a"))
        #expect(!writer.isIdle)
        bench.loop.advance()
        bench.redis.answer(Self.ok)
        #expect(writer.isIdle)
        bench.loop.advance(milliseconds: 10_000)
        #expect(events.list == ["a ok", "confirmed"])
        #expect(jobs == [])
    }

    @Test(arguments: ["OOM full", "NOPERM no right", "ERR something"])
    func refusedFlushIsWrittenAgain(_ error: String) {
        let events = listen()
        reconnect()
        bench.redis.answer(.null)
        writer.write(DriverBench.flush("a"))
        bench.loop.advance()
        for _ in 0..<2 {
            bench.redis.refuse(error)
            #expect(jobs == [])
            bench.loop.advance(milliseconds: 99)
            #expect(jobs == [])
            bench.loop.advance(milliseconds: 1)
            #expect(jobs == ["a"])
        }
        #expect(events.list == [])
        let complaints = bench.heard.messages.count { $0.hasPrefix("Redis does not take results") }
        #expect(complaints == (error.hasPrefix("OOM") ? 0 : 1), "transient errors need no operator")
    }

    @Test func unreadableAnswerRepeatsTheFlushAfterASecond() {
        let events = listen()
        reconnect()
        bench.redis.answer(.null)
        writer.write(DriverBench.flush("a"))
        bench.loop.advance()
        bench.redis.answer(.text("unheard of"))
        bench.loop.advance(milliseconds: 999)
        #expect(jobs == [])
        bench.loop.advance(milliseconds: 1)
        #expect(jobs == ["a"])
        #expect(events.list == [])
        #expect(!writer.isIdle)
    }

    /// The repetition after an error is due while the connection is away.
    @Test func repetitionThatIsDueWithoutAConnectionWaitsForTheComparison() {
        reconnect()
        bench.redis.answer(.null)
        writer.write(DriverBench.flush("a"))
        bench.loop.advance()
        bench.redis.refuse()
        lose()
        bench.redis.becomeReady()
        bench.loop.advance(milliseconds: 1_000)
        #expect(jobs == [])
        reconnect()
        #expect(jobs == ["COMPARE", "a"])
    }

    /// An answer of one connection, and the flush's repetition on the next: the first one counts.
    @Test func secondAnswerOfAFlushIsIgnored() {
        let events = listen()
        reconnect()
        bench.redis.answer(.null)
        writer.write(DriverBench.flush("a"))
        bench.loop.advance()
        let first = bench.redis.removeFirst()
        lose()
        reconnect()
        bench.redis.answer(.null)
        bench.loop.advance()
        first.completion(.success(Self.ok))
        bench.redis.answer(.text("stale"))
        #expect(events.list == ["a ok", "confirmed"])
    }

    // MARK: Replicas

    /// A replica has what was confirmed before it was asked: those results cannot be lost with the primary.
    @Test(arguments: [(Int64(1), ["replay b", "compare"]), (Int64(0), ["replay a", "replay b", "compare"])])
    func replicatedResultsAreForgottenInTime(_ replicas: Int64, _ expected: [String]) throws {
        let bench = try DriverBench(url: "redis-sentinel://localhost:1")
        var events: [String] = []
        bench.writer.onAnswer = { if case .replay(let flush) = $0 { events.append("replay \(flush.source.job)") } }
        bench.writer.open(isSameServer: true)
        bench.writer.write(DriverBench.flush("a"))
        bench.loop.advance()
        bench.redis.answer(Self.ok)
        bench.loop.advance(milliseconds: 10)
        bench.writer.checkReplicas()
        #expect(bench.redis.waiting.map(\.words) == [["WAIT", "1", "20"]])
        bench.redis.answer(.integer(replicas))
        // More than the three seconds for which results are kept anyway; the next flush drops what is older.
        bench.loop.advance(milliseconds: 3_100)
        bench.writer.write(DriverBench.flush("b"))
        bench.loop.advance()
        bench.redis.answer(Self.ok)
        bench.writer.cut()
        bench.writer.open(isSameServer: false)
        events.append("compare")
        #expect(events == expected)
    }
}
