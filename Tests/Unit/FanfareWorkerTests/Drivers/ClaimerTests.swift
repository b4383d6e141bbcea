import FanfareCore
import RedisTransport
import StreamWire
import Testing

@testable import EventLoop
@testable import FanfareWorker

/// When the worker asks Redis for work, and what it does with each answer.
@Suite struct ClaimerTests {
    private let bench: DriverBench
    private var claimer: Claimer { bench.claimer }

    init() throws { bench = try DriverBench() }

    /// Words of a claim: the function's name stands at 0.
    private static let (worker, newsCursor, connection) = (1, 14, 17)

    private func reply(unfinished: Int64 = 0, nextDueInMs: Int64? = nil, _ more: [RedisValue] = []) -> RedisValue {
        .claimed(nowMs: bench.context.nowMs, unfinished: unfinished, nextDueInMs: nextDueInMs, more)
    }

    /// The milliseconds until a claim is in flight, at most 10 s.
    private func waitForClaim() -> Int? {
        bench.loop.advance()
        return (0...10_000).first { _ in
            if bench.redis.waiting.contains(where: { $0.name == "claim" }) { return true }
            bench.loop.advance(milliseconds: 1)
            return false
        }
    }

    // MARK: Asking

    @Test func secondClaimWaitsForTheAnswerOfTheFirst() {
        claimer.claim()
        claimer.claim()
        claimer.claim(afterMs: 0)
        claimer.starved()
        bench.loop.advance(milliseconds: 1_000)
        #expect(bench.sent() == ["claim"])
    }

    @Test func claimNamesTheLeaseAndTheConnection() {
        claimer.claim()
        bench.context.connectionChanged()
        bench.context.isReady = true
        let first = bench.redis.removeFirst()
        first.completion(.success(reply()))
        claimer.claim()
        let second = bench.redis.waiting[0]
        #expect([first, second].map { $0.words[Self.worker] } == [DriverBench.name, DriverBench.name])
        #expect([first, second].map { $0.words[Self.connection] } == ["1", "2"])
        #expect([first, second].map { $0.words[Self.newsCursor] } == ["0", "7"])
    }

    @Test(arguments: ["lease", "comparison", "drain"]) func nothingIsClaimedWithout(_ condition: String) {
        switch condition {
        case "lease": bench.leases.hold("p", until: 0)
        case "comparison": bench.context.isReady = false
        default: bench.runner.drain()
        }
        claimer.claim()
        bench.loop.advance(milliseconds: 1_000)
        #expect(bench.sent() == [])
        bench.leases.hold("p", until: .max)
        bench.context.isReady = true
        bench.loop.advance(milliseconds: 50)
        #expect(bench.sent() == (condition == "drain" ? [] : ["claim"]))
    }

    @Test func earliestOfSeveralTimesCountsOnce() {
        for milliseconds: Int64 in [2_000, 30, 1_000] { claimer.claim(afterMs: milliseconds) }
        #expect(waitForClaim() == 30)
        bench.loop.advance(milliseconds: 5_000)
        #expect(bench.sent() == ["claim"])
    }

    // MARK: Answers

    @Test func answerDecidesWhenTheNextClaimFollows() {
        let answers: [(reply: RedisValue, ms: Int?)] = [
            (reply(unfinished: 1), 50), (reply(unfinished: 1, nextDueInMs: 20), 20), (reply(nextDueInMs: 900), 900),
            (reply([.text("suspect"), .text("shared")]), 250), (reply(), nil),
        ]
        claimer.claim()
        for (answer, milliseconds) in answers {
            bench.redis.answer(answer)
            #expect(waitForClaim() == milliseconds)
        }
    }

    @Test func answerWithBatchesIsFollowedByAClaimAtOnce() {
        claimer.claim()
        bench.redis.answer(reply(unfinished: 1, [.text("claims"), .array([.batch("j")])]))
        #expect(bench.context.machine.known.map(\.name) == ["j/0"])
        #expect(waitForClaim() == 0)
    }

    @Test(arguments: ["OOM full", "NOPERM no right", nil]) func failedClaimIsRepeatedLater(_ error: String?) {
        var refusals: [String] = []
        bench.context.redis.onRefused = { refusals.append("\($0.code)") }
        claimer.claim()
        if let error { bench.redis.refuse(error) } else { bench.redis.answer(.text("unheard of")) }
        #expect(!claimer.plan.isAsking)
        #expect(Set(refusals) == Set(error.map { [String($0.prefix { $0 != " " })] } ?? []))
        #expect(waitForClaim() == 50)
    }

    @Test func claimThatIsLostWithItsConnectionIsRepeatedAfterTheComparison() {
        bench.redis.onStateChange = { [bench] state in
            if state != .ready { bench.runner.session.handle(.disconnected) }
        }
        claimer.claim()
        bench.redis.lose()
        bench.loop.advance(milliseconds: 1_000)
        bench.redis.becomeReady()
        bench.loop.advance(milliseconds: 1_000)
        #expect(bench.sent() == ["claim"], "nothing is asked before the comparison")
        #expect(bench.redis.namesWhileAway == [])
        bench.context.isReady = true
        #expect(waitForClaim() == 50)
    }

    @Test func workerThatWasDeclaredDeadRegistersUnderItsNextName() {
        bench.connect()
        bench.redis.answer(.text("fenced"))
        #expect(bench.redis.waiting.map(\.words) == [["register", "w.0.2"]])
        bench.loop.advance(milliseconds: 1_000)
        #expect(bench.sent() == ["claim", "register"], "nothing is claimed without a lease")
        bench.redis.answer(.pairs(["outcome": .text("ok"), "news_cursor": .text("9")]))
        #expect(waitForClaim() == 0)
        #expect(bench.redis.waiting.first?.words[Self.worker] == "w.0.2")
        #expect(bench.redis.waiting.first?.words[Self.newsCursor] == "9")
    }

    /// Its batches are for others, and the name that is registered now claims again.
    @Test func answerToADeadNameBringsNothing() {
        claimer.claim()
        bench.leases.lost("p")
        bench.leases.hold("p", until: .max)
        bench.redis.answer(reply(unfinished: 1, [.text("claims"), .array([.batch("j")])]))
        #expect(bench.context.machine.isEmpty)
        #expect(claimer.plan.newsCursor == "0")
        #expect(waitForClaim() == 0)
        #expect(bench.redis.waiting.first?.words[Self.worker] == "w.0.2")
    }

    /// The death of an earlier name says nothing about the present one.
    @Test func lateFenceOfAnEarlierNameIsIgnored() {
        claimer.claim()
        bench.leases.lost("p")
        bench.leases.hold("p", until: .max)
        bench.redis.answer(.text("fenced"))
        #expect(bench.context.leaseName == "w.0.2")
        #expect(bench.sent() == ["claim"])
    }

    // MARK: Tasks that an answer names

    @Test func audienceIsCopiedPartByPart() {
        claimer.claim()
        _ = bench.redis.removeNames()
        bench.redis.answer(reply([.text("copying"), .text("j")]))
        #expect(bench.redis.waiting.map(\.words) == [["INFO", "server"]])
        bench.redis.answer(.text("run_id:abc\r\n"))
        let words = bench.redis.waiting[0].words
        #expect(words.starts(with: ["copy", "j"]) && words.contains("abc"))
    }

    @Test func closedWindowIsAnsweredWithItsNextOpening() {
        claimer.claim()
        bench.redis.answer(
            reply([
                .text("closed_window_job"), .text("j"), .text("closed_window"), .text("09:00-18:00 Europe/Madrid"),
            ])
        )
        #expect(bench.redis.waiting.map(\.name) == ["set_window"])
        #expect(bench.redis.waiting.first?.words[1] == "j")
    }
}
