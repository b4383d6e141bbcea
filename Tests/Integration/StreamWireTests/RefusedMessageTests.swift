import FanfareCore
import FanfareModel
import RedisTransport
import StreamWire
import TestSupport
import Testing

/// A fan-out whose message FCM refuses: judged in the step that records results, over the last 100 first attempts.
@Suite struct RefusedMessageTests {
    /// A fan-out whose flushes the tests write, a digit for each first attempt: 1 was refused for the message.
    private struct Run {
        let guards: GuardBench
        var batch: GuardedBatch
        var position = 0

        init(_ guards: GuardBench, _ claim: Claim) { (self.guards, batch) = (guards, GuardedBatch(claim)) }

        mutating func call(_ digits: String, detail: String = "", asking asked: Int? = nil) -> RecordCall {
            let outcomes = digits.map { $0 == "1" ? FirstAttempt.failed(.invalidArgument) : .sent }
            var call = batch.call(zip(position..., outcomes).map { (position: $0, outcome: $1) }, asking: asked)
            position += digits.count
            for digit in digits { if digit == "1" { call.appendRefusal(detail) } else { call.answers += 1 } }
            return call
        }

        func record(_ call: RecordCall) async throws -> GuardedReply {
            guard case .ok(let reply) = try await guards.bench.record(call, batch.worker) else {
                throw TestFailure("not recorded")
            }
            return reply
        }

        mutating func record(_ digits: String, detail: String = "", asking asked: Int? = nil) async throws
            -> GuardedReply
        {
            try await record(call(digits, detail: detail, asking: asked))
        }
    }

    private static func digits(_ digit: Character, _ count: Int) -> String { String(repeating: digit, count: count) }

    private func run(
        _ guards: GuardBench,
        change: @escaping (inout JobGuards) -> Void = { _ in }
    ) async throws -> Run {
        try await guards.intake("a", 2_500, change: change)
        return Run(guards, try #require(try await guards.claims(window: 5_000).first))
    }

    @Test func fanOutPausesWithItsFigureAndTheNamedField() async throws {
        try await withGuardBench { guards in
            var run = try await run(guards)
            #expect(try await run.record(Self.digits("0", 47) + Self.digits("1", 52)) == GuardedReply())
            let reply = try await run.record("1", detail: "message.android.ttl")
            #expect(reply.paused == .message)
            #expect(reply.reason == "message refused: 53 of 100 INVALID_ARGUMENT (message.android.ttl)")
            #expect(try await guards.state("a") == ["paused", reply.reason])
            #expect(try await guards.claims("w2").isEmpty)
            #expect(try await guards.bench.active() == [])
        }
    }

    @Test func refusalWithoutAFieldPausesWithTheFieldOfAnEarlierOne() async throws {
        try await withGuardBench { guards in
            var run = try await run(guards)
            #expect(try await run.record(Self.digits("1", 52), detail: "message.apns").paused == nil)
            let reply = try await run.record(Self.digits("0", 47) + "1")
            #expect(reply.reason == "message refused: 53 of 100 INVALID_ARGUMENT (message.apns)")
        }
    }

    @Test func repeatedCallAnswersTheSameAndPausesOnce() async throws {
        try await withGuardBench { guards in
            var run = try await run(guards)
            let call = run.call(Self.digits("1", 100), asking: 1_000)
            let replies = [try await run.record(call), try await run.record(call)]
            #expect(replies[0] == replies[1] && replies[0].reason == "message refused: 100 of 100 INVALID_ARGUMENT")
            #expect(try await guards.bench.call(RedisCommand("XLEN", guards.keys.base + "marks")).integer == 1)
            #expect(try await guards.bench.call(RedisCommand("XLEN", guards.keys.base + "news")).integer == 1)
            #expect(try await guards.field("untried", of: "a") == nil)
        }
    }

    @Test func noWatermarkRisesFromTheStepThatPausesTheJob() async throws {
        try await withGuardBench { guards in
            try await guards.intake("a", 2_500) { _ in }
            let claims = try await guards.claims(window: 200)
            var (first, second) = (Run(guards, claims[0]), Run(guards, claims[1]))
            #expect(try await first.record("0", asking: 300) == GuardedReply())
            let stop = try await first.record(Self.digits("1", 110), asking: 400)
            #expect(stop.paused == .message && stop.watermark == 300 && stop.waitMs > 0)
            let asked = try await second.record("0", asking: 500)
            #expect(asked.paused == nil && asked.watermark == 200 && asked.waitMs > 0)
        }
    }

    @Test func resumedFanOutGoesOnAndIsNotJudgedAgain() async throws {
        try await withGuardBench { guards in
            var run = try await run(guards)
            #expect(try await run.record(Self.digits("1", 100)).paused == .message)
            try await run.batch.release(guards)
            #expect(try await guards.resume("a") == ["ok", "waiting"])
            let claim = try #require(try await guards.claims(window: 5_000).first)
            var resumed = Run(guards, claim)
            resumed.position = 100
            #expect(try await resumed.record(Self.digits("1", 900)) == GuardedReply())
            #expect(try await guards.state("a").first == "active")
        }
    }

    /// Whatever the flushes are, the fan-out is paused at the first attempt with 50 refusals among the last 100.
    @Test(arguments: 1...20) func everyWindowOfAHundredIsJudged(_ seed: Int) async throws {
        var dice = SplitMix64(seed: UInt64(seed))
        try await withGuardBench { guards in
            try await guards.intake("a", 3_000) { _ in }
            var (all, isOver): ([Bool], Bool) = ([], false)
            for claim in try await guards.claims(window: 5_000) where !isOver {
                var run = Run(guards, claim)
                while run.position < 1_000, !isOver {
                    let share = Double.random(in: 0...0.55, using: &dice)
                    let count = min(1_000 - run.position, Int.random(in: 1...300, using: &dice))
                    let part = (0..<count).map { _ in Double.random(in: 0..<1, using: &dice) < share }
                    let ends = (all.count + 1...all.count + count).filter { $0 >= 100 }
                    all += part
                    let figures = ends.map { end in all[end - 100..<end].count { $0 } }
                    let reply = try await run.record(String(part.map { $0 ? "1" : "0" }))
                    let figure = figures.first { $0 >= 50 }
                    #expect(reply.paused == figure.map { _ in .message }, "seed \(seed), \(all.count) attempts")
                    #expect(reply.reason == figure.map { "message refused: \($0) of 100 INVALID_ARGUMENT" } ?? "")
                    isOver = figure != nil
                }
            }
        }
    }

    @Test func fewerThanAHundredAttemptsAreNotJudged() async throws {
        try await withGuardBench { guards in
            var run = try await run(guards)
            #expect(try await run.record(Self.digits("1", 99)).paused == nil)
            #expect(try await run.record("0").reason == "message refused: 99 of 100 INVALID_ARGUMENT")
        }
    }

    @Test func jobOfOneBatchIsNotJudged() async throws {
        try await withGuardBench { guards in
            try await guards.bench.intake("a", tokens(1_000))
            var run = Run(guards, try #require(try await guards.claims(window: 5_000).first))
            #expect(try await run.record(Self.digits("1", 500)) == GuardedReply())
            #expect(try await guards.state("a").first == "active")
        }
    }

    @Test func acceptedMessageStoresNoAttempts() async throws {
        try await withGuardBench { guards in
            var run = try await run(guards)
            for _ in 0..<3 { _ = try await run.record(Self.digits("0", 60)) }
            #expect(try await guards.field("answers", of: "a") == "120")
            #expect(try await guards.field("refusals", of: "a") == nil)
            _ = try await run.record("1")
            #expect(try await guards.field("refusals", of: "a") == Self.digits("0", 99) + "1")
            _ = try await run.record(Self.digits("0", 100))
            #expect(try await guards.field("refusals", of: "a") == "")
        }
    }

    // MARK: Beside other stops

    @Test func messageComesBeforeTheGuardsOfTheSameStep() async throws {
        try await withGuardBench { guards in
            var run = try await run(guards) {
                $0.canary = "200"
                $0.stopIf = "failed>5%"
            }
            var call = run.call(Self.digits("1", 200))
            call.firstAttempts = Array(Self.digits("B", 200).utf8)
            #expect(try await run.record(call).paused == .message)
            try await run.batch.release(guards)
            // Its canary has ended, too: one resume is enough.
            #expect(try await guards.resume("a") == ["ok", "waiting"])
            #expect(try await guards.claims("w2", window: 5_000).map(\.watermark).max() == 1_000)
        }
    }

    @Test func operatorsPauseStaysAndTheNextRefusalsPauseAgain() async throws {
        try await withGuardBench { guards in
            var run = try await run(guards)
            try await guards.pause("a")
            #expect(try await run.record(Self.digits("1", 100)) == GuardedReply())
            #expect(try await guards.state("a") == ["paused", "paused by an operator"])
            try await run.batch.release(guards)
            _ = try await guards.resume("a")
            var resumed = Run(guards, try #require(try await guards.claims(window: 5_000).first))
            resumed.position = 100
            #expect(try await resumed.record("1").paused == .message)
        }
    }

    /// A pause holds back every watermark, also of a job without guards.
    @Test func operatorsPauseRaisesNoWatermark() async throws {
        try await withGuardBench { guards in
            try await guards.intake("a", 2_500) { _ in }
            var run = Run(guards, try #require(try await guards.claims(window: 200).first))
            try await guards.pause("a")
            #expect(try await run.record("0", asking: 300).watermark == 200)
        }
    }

    // MARK: Older workers

    /// Version 1 ended the unsent recipients of such a job. What it stored ends nothing here.
    @Test func abortOfVersionOneIsIgnored() async throws {
        try await withGuardBench { guards in
            var run = try await run(guards)
            let fault = "INVALID_ARGUMENT|fix_message|400|"
            _ = try await guards.bench.call(
                RedisCommand("HSET", guards.keys.base + "spec:a", "abort", fault, "bad", "60", "bad_answer", fault)
            )
            #expect(try await run.record("0", asking: 1_000) == GuardedReply())
            let claim = try await guards.bench.call(ClaimCall.any("w2").command(guards.keys))
            #expect(!"\(claim)".contains("fix_message"))
        }
    }

    /// An older worker counts answers that are not FCM's, such as pages of a proxy.
    @Test func countsOfAnOlderWorkerPauseNothing() async throws {
        try await withGuardBench { guards in
            var run = try await run(guards)
            var call = run.call(Self.digits("0", 200))
            call.answers = 200
            let command = call.command(guards.keys, worker: "w1")
            var older = RedisCommand(String(decoding: command.word(0), as: UTF8.self))
            for index in 1..<command.count {
                // bad_answers and bad_answer are the 12th and 13th argument, after the call's four words.
                switch index {
                case 15: older.append("150")
                case 16: older.append("INVALID_ARGUMENT|fix_message|400|")
                default: older.append(command.word(index))
                }
            }
            #expect(RecordReply(try await guards.bench.call(older)) == .ok())
            #expect(try await guards.state("a").first == "active")
        }
    }
}

extension ClaimCall {
    fileprivate static func any(_ worker: String) -> ClaimCall {
        ClaimCall(
            worker: worker,
            most: 10,
            wanted: 10_000,
            wantedSingle: 10_000,
            window: 128,
            retries: 1_000,
            quotaPerMinute: 600_000
        )
    }
}
