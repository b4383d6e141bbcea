import FanfareModel
import RedisTransport
import StreamWire
import TestSupport
import Testing

/// What waits, when Redis' clock is set. The clock itself stays: what the project remembers of it is moved instead.
@Suite struct ClockTests {
    private static let hour: Int64 = 3_600_000

    /// A project that has a job with a retry due after `waitMs`, as it is when Redis' clock is set by `stepMs`; answers
    /// the project's time just before.
    private func step(_ bench: LibraryBench, by stepMs: Int64, retryIn waitMs: Int64) async throws -> Int64 {
        try await bench.intake("j", tokens(1))
        let first = try await bench.claim("w1")
        let nowMs = first.nowMs - stepMs
        var call = RecordCall(job: "j", batch: "0", epoch: try #require(first.claims.first?.epoch))
        call.retries = [.init(index: 0, dueMs: nowMs + waitMs, parked: false, packed: "1|\(nowMs)|0|t0")]
        call.finish = true
        #expect(try await bench.record(call, "w1") == .ok())
        let ctl = bench.keys.base + "ctl"
        let untilMs = String(nowMs + waitMs)
        _ = try await bench.call(RedisCommand("HSET", ctl, "clock", String(nowMs), "hold_until", untilMs))
        return nowMs
    }

    private func claim(_ bench: LibraryBench, clock nowMs: Int64, _ worker: String = "w1") async throws -> ClaimReply {
        var call = ClaimCall(
            worker: worker,
            most: 4,
            wanted: 10,
            wantedSingle: 10,
            window: 8,
            retries: 10,
            quotaPerMinute: 600_000
        )
        call.nowMs = nowMs
        return try await bench.claim(call)
    }

    /// Claims until the job is given out, for five seconds at most.
    private func until(_ job: String, _ claim: () async throws -> ClaimReply) async throws {
        let end = ContinuousClock.now + .seconds(5)
        while try await !claim().claims.contains(where: { $0.job == job }) {
            guard ContinuousClock.now < end else { throw TestFailure("\(job) was not given out") }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    @Test(arguments: [hour, 24 * hour, 600_000, -hour, -24 * hour, -600_000])
    func aStepNeitherLengthensNorShortensAWait(stepMs: Int64) async throws {
        try await withBench { bench in
            // A positive step is a clock that was set back.
            let before = try await step(bench, by: -stepMs, retryIn: 300)
            let reply = try await claim(bench, clock: before + 5)
            #expect((before...before + 2_005).contains(reply.nowMs), "\(reply.nowMs - before)")
            #expect(reply.claims.isEmpty && (0...300).contains(reply.holdMs))
            #expect(abs(reply.projectClockOffsetMs - stepMs) <= 60_000)
            try await until("j") { try await claim(bench, clock: 0) }
        }
    }

    @Test func clockSetBackAndForwardKeepsTheProjectsTime() async throws {
        try await withBench { bench in
            let first = try await claim(bench, clock: 0)
            // Set back by an hour: what was seen is an hour ahead.
            let ahead = first.nowMs + Self.hour
            _ = try await bench.call(RedisCommand("HSET", bench.keys.base + "ctl", "clock", String(ahead)))
            let back = try await claim(bench, clock: ahead)
            #expect(abs(back.projectClockOffsetMs - Self.hour) < 60_000 && back.nowMs >= ahead)
            // And set forward: the same, seen from a project whose time is an hour behind.
            let ctl = RedisCommand("HSET", bench.keys.base + "ctl", "clock", String(first.nowMs), "lead", "0")
            _ = try await bench.call(ctl)
            _ = try await bench.call(RedisCommand("HINCRBY", bench.keys.base + "ctl", "lead", String(Self.hour)))
            let forward = try await claim(bench, clock: first.nowMs)
            #expect(abs(forward.projectClockOffsetMs) < 60_000 && abs(forward.nowMs - first.nowMs) < 60_000)
        }
    }

    /// Small steps look like slow calls; together they move the project's time no further than one of them.
    @Test func manySmallClockStepsDoNotAddUp() async throws {
        try await withBench { bench in
            var nowMs = try await claim(bench, clock: 0).nowMs
            let ctl = bench.keys.base + "ctl"
            for _ in 0..<10 {
                // Each moves the server's clock back by 1.5 s: what it shows is so much less than before.
                _ = try await bench.call(RedisCommand("HINCRBY", ctl, "lead", "-1500"))
                let reply = try await claim(bench, clock: nowMs)
                #expect(nowMs - reply.nowMs <= 2_000)
                nowMs = max(nowMs, reply.nowMs)
            }
        }
    }

    /// After an hour without a call an hour has passed.
    @Test(arguments: [true, false]) func timePassesWithoutCalls(isKnown: Bool) async throws {
        try await withBench { bench in
            let before = try await step(bench, by: Self.hour, retryIn: 3_000)
            // The worker's own clock ran meanwhile; a worker that has just started knows none.
            let reply = try await claim(bench, clock: isKnown ? before + Self.hour + 60_000 : 0)
            #expect(reply.nowMs >= before + Self.hour)
            #expect(reply.projectClockOffsetMs == 0, "before \(before), now \(reply.nowMs)")
            #expect(reply.claims.count == 1 && reply.holdMs == 0)
        }
    }

    /// What producers name is a time of the day, whatever happened to the clock.
    @Test func notBeforeAndExpiryAreTimesOfTheDay() async throws {
        try await withBench { bench in
            let first = try await claim(bench, clock: 0)
            let ahead = first.nowMs + Self.hour
            _ = try await bench.call(RedisCommand("HSET", bench.keys.base + "ctl", "clock", String(ahead)))
            _ = try await claim(bench, clock: ahead)
            try await bench.intake("later", tokens(1)) { $0.notBefore = first.nowMs + 60_000 }
            try await bench.intake("over", tokens(1)) { $0.expiresAt = first.nowMs + 60_000 }
            let reply = try await claim(bench, clock: ahead)
            #expect(reply.claims.map(\.job) == ["over"] && reply.claims.first?.ending == nil)
            #expect((0...60_000).contains(reply.nextDueMs - reply.nowMs), "\(reply.nextDueMs - reply.nowMs)")
            let created = try await bench.job("later")["created_ms"].flatMap { Int64($0) }
            #expect(abs(try #require(created) - first.nowMs) < 60_000)
        }
    }

    /// What an operator does and what a late call says moves no clock: only a worker can tell a step from a pause.
    @Test func callWithoutAWorkerClockChangesNothing() async throws {
        try await withBench { bench in
            let before = try await step(bench, by: Self.hour, retryIn: 3_000)
            _ = try await bench.call(FunctionLibrary.pause(bench.keys, job: "j"))
            _ = try await bench.call(FunctionLibrary.resume(bench.keys, job: "j"))
            _ = try await bench.call(FunctionLibrary.overview(bench.keys))
            let reply = try await claim(bench, clock: before + 5)
            #expect(reply.nowMs < before + 2_005 && reply.claims.isEmpty)
        }
    }

    @Test func newsAfterARollbackIsRead() async throws {
        try await withBench { bench in
            try await bench.intake("a", tokens(2_000))
            try await bench.intake("b", tokens(2_000))
            let base = bench.keys.base
            // The last that was heard is of a time that this state does not know.
            var call = ClaimCall(
                worker: "w1",
                most: 0,
                wanted: 0,
                wantedSingle: 0,
                window: 1,
                retries: 0,
                quotaPerMinute: 600
            )
            call.newsCursor = "99999999999999-7"
            _ = try await bench.call(FunctionLibrary.cancel(bench.keys, job: "a"))
            let first = try await bench.claim(call)
            #expect(first.news == [.end(job: "a", status: "cancelled")])
            let said = try await bench.call(RedisCommand("HGET", base + "ctl", "said")).string
            #expect(first.newsCursor == said)
            // Heard from the beginning: of a new job by an old one's name nothing ended.
            let old = RedisCommand("XADD", base + "news", "*", "kind", "end", "name", "b", "value", "expired")
            _ = try await bench.call(old)
            _ = try await bench.call(FunctionLibrary.pause(bench.keys, job: "b"))
            let second = try await bench.claim(call)
            #expect(second.news.count == 2)
            guard case .stop("b", _)? = second.news.last else { throw TestFailure("\(second.news)") }
            call.newsCursor = second.newsCursor
            let third = try await bench.claim(call)
            #expect(third.news.isEmpty && third.newsCursor == second.newsCursor)
        }
    }
}
