import FanfareModel
import RedisTransport
import StreamWire
import TestSupport
import Testing

/// A step that cannot be made, because a key has a wrong type, stops its own job only, and is made once the key is mended.
@Suite struct StuckStepTests {
    private let base = LibraryBench.keys.base

    /// The key holds a string, which no function can use.
    private func spoil(_ key: String, _ bench: LibraryBench) async throws {
        _ = try await bench.call(RedisCommand("SET", base + key, "spoilt"))
    }

    private func mend(_ key: String, _ bench: LibraryBench) async throws {
        #expect(try await bench.call(RedisCommand("DEL", base + key)).integer == 1)
    }

    private func control(_ field: String, _ bench: LibraryBench) async throws -> String? {
        try await bench.call(RedisCommand("HGET", base + "ctl", field)).string
    }

    private func held(by worker: String, _ bench: LibraryBench) async throws -> [String] {
        try await bench.call(RedisCommand("SMEMBERS", base + "claims:" + worker)).array?.compactMap(\.string).sorted()
            ?? []
    }

    /// All recipients of a claim were sent to, but for the first ones, which wait for a retry.
    private func finish(_ claim: Claim, butFirst count: Int = 1, _ bench: LibraryBench) async throws {
        for recipient in claim.recipients.prefix(count) { try await bench.retry(recipient.index, of: claim, "w1") }
        var rest = claim
        rest.recipients.removeFirst(count)
        try await bench.finish(rest, "w1", call: 2)
    }

    /// A retry of the job, whose result cannot be written: where paused retries of the job wait, there is something else.
    private func stick(_ retry: Claim, _ bench: LibraryBench, change: (inout RecordCall) -> Void = { _ in })
        async throws
    {
        try await spoil("held:" + retry.job, bench)
        var flush = RecordCall(job: retry.job, batch: retry.batch, epoch: retry.epoch)
        flush.results = ResultBuffer([bench.sent(retry.recipients[0].index)])
        flush.finish = true
        change(&flush)
        await #expect(throws: RedisError.self) { try await bench.record(flush, "w1") }
    }

    /// A batch that cannot be freed keeps the name of its dead worker, but the name's quota ends.
    @Test func quotaOfADeadWorkerEndsThoughABatchIsStuck() async throws {
        try await withBench { bench in
            try await bench.intake("A", tokens(2_000))
            let claims = try await bench.claim("w1", most: 2).claims
            try await finish(claims[0], bench)
            var low = ClaimCall(
                worker: "w1",
                most: 10,
                wanted: 10_000,
                wantedSingle: 10_000,
                window: 128,
                retries: 1_000,
                quotaPerMinute: 1_000
            )
            let retry = try #require(try await bench.claim(low).claims.first)
            (low.worker, low.most, low.quotaPerMinute) = ("w2", 0, 600_000)
            _ = try await bench.claim(low)
            #expect(try await control("quota", bench) == "1000")
            try await stick(retry, bench)
            try await bench.declareDead("w1")
            #expect(try await !held(by: "w1", bench).isEmpty)
            #expect(try await control("quota", bench) == "600000")
        }
    }

    @Test func stuckStepOfAJobLeavesTheOthersAlone() async throws {
        try await withBench { bench in
            try await bench.intake("A", tokens(2_000))
            let claims = try await bench.claim("w1", most: 2).claims
            #expect(claims.map(\.name) == ["A/0", "A/1"])
            try await finish(claims[0], bench)
            let retry = try #require(try await bench.claim("w1").claims.first)
            #expect(retry.pass == .retry && retry.recipients.count == 1)
            try await stick(retry, bench)

            // Others' work is given out.
            for id in ["b", "c"] { try await bench.intake(id, tokens(1)) }
            #expect(try await bench.claim("w1").claims.map(\.job) == ["b", "c"])
            #expect(try await bench.words(FunctionLibrary.renew(.init(bench.keys, worker: "w1"))).first == "ok")

            // A dead worker's, too; what the step concerns stays with its name.
            try await bench.declareDead("w1")
            let freed = try await held(by: "w1", bench)
            #expect(freed == ["A/1", retry.name].sorted() || freed == ["A/1"])
            let taken = try await bench.claim("w2").claims
            #expect(taken.map(\.job) == ["b", "c"] && taken.map(\.deliveries) == [2, 2])
            for claim in taken { try await bench.finish(claim, "w2") }
            #expect(try await bench.job("b")["state"] == "done")

            try await mend("held:A", bench)
            try await bench.declareDead("w1")
            #expect(try await held(by: "w1", bench) == [])
            let last = try await bench.claim("w2").claims
            #expect(last.map(\.name) == ["A/1"])
            for claim in last { try await bench.finish(claim, "w2") }
            let job = try await bench.job("A")
            #expect(job["state"] == "done" && job["sent"] == "2000" && job["retrying"] == "0")
            let tally = try await bench.map(RedisCommand("HGETALL", base + "tally"))
            #expect(tally == ["sent": "2002", "retries": "1"])
            #expect(try await control("left", bench) == "0")
            #expect(try await bench.call(RedisCommand("EXISTS", base + "redo")).integer == 0)
        }
    }

    /// A job in a queue, and a recipient that is due, come after others' while a step of the job is stuck.
    @Test func queuesAreReadPastAStuckJob() async throws {
        try await withBench { bench in
            try await bench.intake("A", tokens(3))
            let first = try #require(try await bench.claim("w1").claims.first)
            try await finish(first, butFirst: 2, bench)
            let retry = try #require(try await bench.claim("w1").claims.first)
            try await stick(retry, bench)
            _ = try await bench.call(RedisCommand("ZADD", base + "singles", "-1", "400-0/A"))
            _ = try await bench.call(RedisCommand("ZADD", base + "retry", "1", "A/1"))
            _ = try await bench.call(RedisCommand("RPUSH", base + "orphans", "A/0"))
            try await bench.intake("b", tokens(1))
            #expect(try await bench.claim("w2").claims.map(\.job) == ["b"])
            #expect(try await bench.claim("w2").claims == [])
            #expect(try await bench.call(RedisCommand("ZCARD", base + "singles")).integer == 1)
            #expect(try await bench.call(RedisCommand("ZCARD", base + "retry")).integer == 1)
            #expect(try await bench.call(RedisCommand("LLEN", base + "orphans")).integer == 1)
        }
    }

    /// A lease is kept, and a worker begins, while not even a step of the whole project can be made.
    @Test func leasesAreKeptWhileAStepOfTheProjectIsStuck() async throws {
        try await withBench { bench in
            try await spoil("jobs_open", bench)
            await #expect(throws: RedisError.self) { try await bench.intake("a", tokens(1)) }
            await #expect(throws: RedisError.self) { try await bench.claim("w1") }
            #expect(try await bench.words(FunctionLibrary.renew(.init(bench.keys, worker: "w1"))).first == "ok")
            try await bench.register("w3")
            try await mend("jobs_open", bench)
            #expect(try await bench.claim("w3").claims.map(\.job) == ["a"])
        }
    }

    /// What was made of a stuck step is not made again by each later call: it would undo what came after it.
    @Test func stuckStepDoesNotEndALaterBlock() async throws {
        try await withBench { bench in
            try await bench.intake("A", tokens(2))
            let first = try #require(try await bench.claim("w1").claims.first)
            try await finish(first, bench)
            let retry = try #require(try await bench.claim("w1").claims.first)
            var others: [RecordCall] = []
            for id in ["b", "c"] {
                guard case .taken(let epoch, _, _) = try await bench.intake(id, tokens(1), taker: "w1") else {
                    throw TestFailure("not taken")
                }
                others.append(RecordCall(job: id, batch: "0", epoch: epoch))
            }
            others[0].blockReason = "HTTP 401: b"
            #expect(try await bench.record(others[0], "w1") == .ok())
            #expect(try await control("block", bench) == "HTTP 401: b")
            // The answer that ends the block is in the part of the step that was made.
            try await stick(retry, bench) { $0.projectAnswers = true }
            #expect(try await control("block", bench) == nil)

            others[1].blockReason = "HTTP 401: c"
            #expect(try await bench.record(others[1], "w1") == .ok())
            for _ in 0..<2 { #expect(try await bench.claim("w2").blockReason == "HTTP 401: c") }
            #expect(try await bench.job("c")["state"] == "paused")
        }
    }

    @Test func stuckStepDoesNotRepeatItsHold() async throws {
        try await withBench { bench in
            guard case .taken(let epoch, _, _) = try await bench.intake("b", tokens(3), taker: "w1") else {
                throw TestFailure("not taken")
            }
            try await spoil("groups_on", bench)
            var flush = RecordCall(job: "b", batch: "0", epoch: epoch)
            flush.results = ResultBuffer([bench.sent(0), bench.sent(1)])
            let history = RecipientHistory(attempts: 1, firstAttemptMs: 1, maybeDuplicate: false)
            flush.retries = [.init(index: 2, dueMs: 1, parked: false, packed: history.packed(with: "t2"))]
            flush.holdMs = 300
            flush.finish = true
            await #expect(throws: RedisError.self) { try await bench.record(flush, "w1") }
            #expect(try await control("recovering", bench) == "1")
            _ = try await bench.call(FunctionLibrary.pauseProject(bench.keys, reason: "x"))

            // The project has recovered since.
            _ = try await bench.call(
                RedisCommand("HSET", base + "ctl", "recovering", "0", "have", "5", "hold_until", "1")
            )
            _ = try await bench.call(FunctionLibrary.resumeProject(bench.keys))
            _ = try await bench.call(FunctionLibrary.removeIdleConsumers(bench.keys, idleMs: 60_000))
            #expect(try await control("recovering", bench) == "0")
            #expect(try await control("have", bench) == "5")
            #expect(try await control("hold_until", bench) == "1")

            try await mend("groups_on", bench)
            let retry = try #require(try await bench.claim("w1").claims.first)
            #expect(retry.job == "b" && retry.recipients.map(\.index) == [2])
            #expect(try await held(by: "w1", bench) == [retry.name])
            try await bench.finish(retry, "w1")
            let job = try await bench.job("b")
            #expect(job["state"] == "done" && job["sent"] == "3")
        }
    }
}
