import EventLoop
import FanfareModel
import RedisTransport
import StreamWire
import TestSupport
import Testing

/// Several calls of one function that go to Redis as one call.
@Suite struct CoalescingTests {
    private let keys = LibraryBench.keys

    /// Redis has the same state whether calls come one by one or coalesced.
    @Test func coalescedCallsLeaveTheSameState() async throws {
        let single = try await state { bench, _, calls in
            var answers: [RedisValue] = []
            for call in calls { answers.append(try await bench.call(call)) }
            return answers
        }
        let coalesced = try await state { bench, function, calls in
            try #require(try await bench.call(FunctionLibrary.coalesce(function, bench.keys, calls)).array)
        }
        #expect(single.answers == coalesced.answers)
        #expect(single.kept == coalesced.kept)
        #expect(single.kept.count > 20)
    }

    private typealias Caller =
        @Sendable (LibraryBench, FunctionLibrary.Coalesced, [RedisCommand]) async throws -> [RedisValue]

    /// Jobs of many kinds are handed over, and results of some are written, with `make`. Everything that Redis has then, but
    /// for what no two runs have in common: times, epochs and ids of entries.
    private func state(_ make: @escaping Caller) async throws -> (answers: [String], kept: [String]) {
        let found = Locked<(answers: [String], kept: [String])>(([], []))
        try await withBench { bench in
            var jobs: [Job] = []
            for (id, target) in [
                ("one", Target.tokens(["a"])), ("two", .tokens(["a", "b"])), ("again", .tokens(["c"])),
                ("again", .tokens(["c"])), ("nobody", .tokens([])), ("topic", .topic("news")), ("late", .tokens(["d"])),
                ("group", .group("g")), ("last", .tokens(["e"])),
            ] {
                let entry = try #require(try await bench.call(RedisCommand("XADD", keys.jobs, "*", "x", "1")).string)
                var job = Job(id: id, hasOwnID: true, entryID: entry, target: target, message: Array("{}".utf8))
                if id == "late" { job.notBefore = 4_000_000_000_000 }
                jobs.append(job)
            }
            _ = try await bench.call(
                RedisCommand("XREADGROUP", "GROUP", "fanfare", "w1", "STREAMS", keys.jobs, ">")
            )
            let intakes = jobs.map { bench.intakeCall($0, taker: "w1").command(bench.keys) }
            let replies = try await make(bench, .intake, intakes)
            let outcomes = replies.map(IntakeReply.init)
            var epochs: [String: String] = [:]
            for (job, outcome) in zip(jobs, outcomes) {
                if case .taken(let epoch, _, _)? = outcome { epochs[job.id] = epoch }
            }
            #expect(Set(epochs.values).count == epochs.count)
            var calls: [RecordCall] = []
            for (id, index, finish) in [("one", 0, true), ("two", 1, false), ("again", 0, true), ("again", 0, true)] {
                var call = RecordCall(job: id, batch: "0", epoch: try #require(epochs[id]))
                call.results = ResultBuffer([bench.sent(index)])
                call.finish = finish
                calls.append(call)
            }
            var stale = RecordCall(job: "last", batch: "0", epoch: "1")
            stale.results = ResultBuffer([bench.sent(0)])
            calls.append(stale)
            let written = try await make(bench, .record, calls.map { $0.command(bench.keys, worker: "w1") })
            let answers = outcomes.map(Self.word) + written.map { RecordReply($0).map { "\($0)" } ?? "nothing" }
            let all = try await kept(bench)
            found.withLock { $0 = (answers, all) }
        }
        return found.withLock { $0 }
    }

    private static func word(_ outcome: IntakeReply?) -> String {
        if case .taken? = outcome { return "taken" }
        return outcome.map { "\($0)" } ?? "nothing"
    }

    private func kept(_ bench: LibraryBench) async throws -> [String] {
        var lines: [String] = []
        let volatile: Set<String> = [
            "created_ms", "started_ms", "finished_ms", "first_pass_ms", "entry", "member", "epoch", "clock", "lead",
            "at",
            "have", "level", "since", "pacing", "pace",
        ]
        for key in try await bench.call(RedisCommand("KEYS", "*")).array?.compactMap(\.string) ?? [] {
            switch try await bench.call(RedisCommand("TYPE", key)).string {
            case "hash":
                for (name, value) in try await bench.map(RedisCommand("HGETALL", key)) {
                    lines.append("\(key) \(name) \(volatile.contains(name) ? "" : value)")
                }
            case "set":
                let members = try await bench.call(RedisCommand("SMEMBERS", key)).array?.compactMap(\.string) ?? []
                lines.append("\(key) \(members.sorted())")
            case "zset":
                lines.append("\(key) \(try await bench.call(RedisCommand("ZCARD", key)).integer ?? -1)")
            case "stream":
                let length = try await bench.call(RedisCommand("XLEN", key)).integer ?? -1
                lines.append("\(key) \(length)")
            case let other: lines.append("\(key) \(other ?? "")")
            }
        }
        let pending = try await bench.call(RedisCommand("XPENDING", keys.jobs, "fanfare")).array?.first?.integer ?? -1
        return (lines + ["pending \(pending)"]).sorted()
    }

    /// A key of the wrong type stops the one job that it belongs to.
    @Test func failedCallDoesNotStopTheOthers() async throws {
        try await withBench { bench in
            _ = try await bench.call(RedisCommand("SET", keys.base + "rcpt:b", "no hash"))
            var intakes: [RedisCommand] = []
            for id in ["a", "b", "c"] { intakes.append(try await single(id, taker: "w1", bench)) }
            let taken = try await coalesce(.intake, intakes, bench)
            guard case .error(let line) = taken[1] else { throw TestFailure("\(taken[1])") }
            #expect(line.hasPrefix("WRONGTYPE "), "the code that Redis gave it: \(line)")
            var records: [RedisCommand] = []
            for (id, reply) in [("a", taken[0]), ("c", taken[2])] {
                guard case .taken(let epoch, _, _)? = IntakeReply(reply) else { throw TestFailure("\(reply)") }
                var call = RecordCall(job: id, batch: "0", epoch: epoch)
                call.results = ResultBuffer([bench.sent(0)])
                call.finish = true
                records.append(call.command(keys, worker: "w1"))
            }
            _ = try await bench.call(RedisCommand("DEL", keys.job("a")))
            _ = try await bench.call(RedisCommand("SET", keys.job("a"), "no hash"))
            for round in 0..<3 {
                let written = try await coalesce(.record, records, bench)
                guard case .error = written[0] else { throw TestFailure("\(written[0])") }
                #expect(RecordReply(written[1]) == (round == 0 ? .ok() : .gone))
            }
            #expect(try await bench.job("c")["state"] == "done")
            // However often the spoilt one is tried: it has no result yet.
            #expect(try await bench.call(RedisCommand("HGET", keys.base + "ctl", "left")).integer == 1)
            #expect(try await bench.map(RedisCommand("HGETALL", keys.base + "tally")) == ["sent": "1"])
            #expect(try await members("claims:w1", bench) == ["a/0"])
        }
    }

    /// An error in the middle of a hand-over leaves the entry where it was; repeated, the call takes the job.
    @Test func failedIntakeLeavesTheEntryAndCanBeRepeated() async throws {
        try await withBench { bench in
            _ = try await bench.call(RedisCommand("SET", keys.base + "rcpt:a", "no hash"))
            let call = try await single("a", taker: "w1", bench)
            _ = try await bench.call(RedisCommand("XREADGROUP", "GROUP", "fanfare", "w1", "STREAMS", keys.jobs, ">"))
            let failure = await #expect(throws: RedisError.self) { _ = try await bench.call(call) }
            #expect(failure?.message.contains("wrong kind of value") == true)
            #expect(try await members("jobs_open", bench).isEmpty)
            let pending = try await bench.call(RedisCommand("XPENDING", keys.jobs, "fanfare"))
            #expect(pending.array?.first?.integer == 1)
            #expect(try await bench.call(RedisCommand("XLEN", keys.jobs)).integer == 1)

            _ = try await bench.call(RedisCommand("DEL", keys.base + "rcpt:a"))
            guard case .taken? = IntakeReply(try await bench.call(call)) else { throw TestFailure("not taken") }
            #expect(try await members("jobs_open", bench) == ["a"])
            #expect(try await bench.call(RedisCommand("XLEN", keys.jobs)).integer == 0)
        }
    }

    private func members(_ name: String, _ bench: LibraryBench) async throws -> [String] {
        try await bench.call(RedisCommand("SMEMBERS", keys.base + name)).array?.compactMap(\.string).sorted() ?? []
    }

    private func coalesce(_ function: FunctionLibrary.Coalesced, _ calls: [RedisCommand], _ bench: LibraryBench)
        async throws -> [RedisValue]
    {
        try #require(try await bench.call(FunctionLibrary.coalesce(function, keys, calls)).array)
    }

    private func single(_ id: String, taker: String?, quota: Int = 600_000, _ bench: LibraryBench) async throws
        -> RedisCommand
    {
        let entry = try #require(try await bench.call(RedisCommand("XADD", keys.jobs, "*", "x", "1")).string)
        let job = Job(id: id, hasOwnID: true, entryID: entry, target: .tokens(["t"]), message: Array("{}".utf8))
        var call = bench.intakeCall(job, taker: taker)
        call.quotaPerMinute = quota
        return call.command(keys)
    }

    /// Each job that is taken finds what the jobs before it have left of the project's permits.
    @Test func permitsAreLentOnce() async throws {
        try await withBench { bench in
            var calls: [RedisCommand] = []
            for number in 0..<20 { calls.append(try await single("j\(number)", taker: "w1", quota: 600, bench)) }
            var lent = 0
            for reply in try await coalesce(.intake, calls, bench) {
                guard case .taken(_, let permits, _)? = IntakeReply(reply) else { throw TestFailure("\(reply)") }
                lent += permits
            }
            // From idle: a quarter of a second at ten a second.
            #expect((1...3).contains(lent), "\(lent)")
        }
    }

    /// A job that comes after a waiting one waits, too, and comes after it.
    @Test func laterJobsQueueBehindAQueuedOne() async throws {
        try await withBench { bench in
            let calls = [
                try await single("a", taker: "w1", bench), try await single("b", taker: nil, bench),
                try await single("c", taker: "w1", bench),
            ]
            let replies = try await coalesce(.intake, calls, bench)
            guard case .taken? = IntakeReply(replies[0]) else { throw TestFailure("\(replies[0])") }
            #expect(replies.dropFirst().map(IntakeReply.init) == [.queued, .queued])
            #expect(try await bench.claim("w1").claims.map(\.job) == ["b", "c"])
        }
    }

    /// What a flush stops, a later one of the same call finds stopped.
    @Test func blockIsRemovedWithTheEndOfItsJob() async throws {
        try await withBench { bench in
            var records: [RecordCall] = []
            let intakes = [try await single("a", taker: "w1", bench), try await single("b", taker: "w1", bench)]
            for (id, reply) in zip(["a", "b"], try await coalesce(.intake, intakes, bench)) {
                guard case .taken(let epoch, _, _)? = IntakeReply(reply) else { throw TestFailure("\(reply)") }
                records.append(RecordCall(job: id, batch: "0", epoch: epoch))
            }
            var (first, blocking, last) = (records[0], records[1], records[1])
            first.results = ResultBuffer([bench.sent(0)])
            first.finish = true
            blocking.blockReason = "denied"
            last.results = ResultBuffer([bench.sent(0)])
            last.finish = true
            last.number = 2
            let commands = [first, blocking, last].map { $0.command(keys, worker: "w1") }
            let replies = try await coalesce(.record, commands, bench)
            #expect(replies.map(RecordReply.init) == Array(repeating: .ok(), count: 3))
            #expect(try await bench.job("b")["state"] == "done")
            #expect(try await bench.job("b")["reason"] == nil)
            #expect(try await members("blocked", bench).isEmpty)
        }
    }

    /// A batch that closes without all its results goes to the next holder, and the later flushes are written.
    @Test func batchClosedWithAnOpenRecipientStopsNoLaterFlush() async throws {
        try await withBench { bench in
            let taken = try await coalesce(.intake, [try await single("s", taker: "w1", bench)], bench)
            guard case .taken(let epoch, _, _)? = IntakeReply(taken[0]) else { throw TestFailure("\(taken)") }
            try await bench.intake("m", tokens(3))
            let claim = try #require(try await bench.claim("w1").claims.first)
            var open = RecordCall(job: "m", batch: "0", epoch: claim.epoch)
            var last = RecordCall(job: "s", batch: "0", epoch: epoch)
            open.results = ResultBuffer([bench.sent(0)])
            open.finish = true
            last.results = ResultBuffer([bench.sent(0)])
            last.finish = true
            let replies = try await coalesce(.record, [open, last].map { $0.command(keys, worker: "w1") }, bench)
            #expect(replies.map(RecordReply.init) == [.ok(), .ok()])
            #expect(try await bench.job("s")["state"] == "done")
            #expect(try await bench.claim("w2").claims.map(\.name) == ["m/0"])
        }
    }
}
