import FanfareModel
import RedisTransport
import StreamWire
import TestSupport
import Testing

/// Which jobs become compact, and what else a short call comes to.
@Suite struct CompactIntakeTests {
    private let keys = LibraryBench.keys

    /// What stands in the way of a job that a worker has read.
    enum Obstacle: String, CaseIterable { case paused, waiting, cancelled, taken, started, forgotten, deadWorker, gone }

    @Test(arguments: Obstacle.allCases) func shortIntakeIsLikeAnyOther(obstacle: Obstacle) async throws {
        try await withBench { bench in
            var id: String? = "j"
            switch obstacle {
            case .paused: _ = try await bench.call(FunctionLibrary.pauseProject(keys, reason: "tests"))
            case .waiting: try await bench.intake("first", tokens(1))
            case .cancelled: break
            case .taken: _ = try await bench.intake("j", tokens(2))
            case .started: _ = try await bench.compact("j")
            case .forgotten: id = nil
            case .deadWorker: try await bench.declareDead("w1")
            case .gone: id = nil
            }
            var job = try await bench.readJob(id)
            let entry = job.entryID
            if obstacle == .cancelled { _ = try await bench.call(RedisCommand("SADD", keys.base + "unwanted", entry)) }
            if obstacle == .gone {
                _ = try await bench.call(RedisCommand("XACK", keys.jobs, "fanfare", entry))
                _ = try await bench.call(RedisCommand("XDEL", keys.jobs, entry))
            }
            if obstacle == .forgotten {
                _ = try await bench.call(RedisCommand("HSET", keys.base + "rolled:\(entry)", "0", "1"))
            }
            job.priority = 7
            let short = try #require(bench.intakeCall(job, taker: "w1").shortCall())
            let value = try await bench.call(FunctionLibrary.coalesce(.intake, keys, [short])).array?.first
            let reply = value.flatMap(IntakeReply.init)
            switch obstacle {
            case .paused, .waiting, .cancelled, .deadWorker: #expect(reply == .queued)
            case .forgotten:
                #expect(reply == .queued)
                let claim = try #require(try await bench.claim("w2").claims.first)
                #expect(claim.recipients.map(\.progress) == [.maybeSent])
            case .taken, .started:
                #expect(reply == .duplicate)
                #expect(try await bench.job("j")["duplicates"] == "1")
            case .gone: #expect(reply == .gone)
            }
            #expect(try await bench.call(RedisCommand("HLEN", keys.base + "compact")).integer == 0)
        }
    }

    @Test func unusualJobHasNoShortCall() async throws {
        try await withBench { bench in
            func short(_ target: Target, taker: String? = "w1", _ change: (inout Job) -> Void = { _ in }) -> Bool {
                var job = Job(id: "j", hasOwnID: true, entryID: "1-1", target: target, message: Array("{}".utf8))
                change(&job)
                return bench.intakeCall(job, taker: taker).shortCall() != nil
            }
            #expect(short(tokens(1)) && short(.fids(["f"])))
            #expect(!short(tokens(2)) && !short(tokens(0)) && !short(tokens(1), taker: nil))
            #expect(!short(.topic("t")) && !short(.group("g")) && !short(.audience(key: "a")))
            #expect(!short(tokens(1)) { $0.notBefore = 1 } && !short(tokens(1)) { $0.expiresAt = 1 })
            #expect(!short(tokens(1)) { $0.guards.ratePerMinute = 1 })
        }
    }

    /// Two entries with one id in one call: the first has it, whether their calls are short or not, and its job is not lost.
    @Test(arguments: [[true, true], [true, false], [false, true]]) func secondEntryOfAnIDIsADuplicate(
        short: [Bool]
    ) async throws {
        try await withBench { bench in
            var calls: [RedisCommand] = []
            for isShort in short {
                let call = bench.intakeCall(try await bench.readJob("j"), taker: "w1")
                calls.append(isShort ? try #require(call.shortCall()) : call.command(keys))
            }
            let replies = try await bench.call(FunctionLibrary.coalesce(.intake, keys, calls)).array ?? []
            guard case .taken? = IntakeReply(replies[0]) else { throw TestFailure("\(replies)") }
            #expect(IntakeReply(replies[1]) == .duplicate)
            #expect(try await bench.job("j")["duplicates"] == "1")
            try await bench.declareDead("w1")
            #expect(try await bench.claim("w2").claims.map(\.job) == ["j"])
        }
    }

    /// A producer's id may be that of an entry: it is taken all the same.
    @Test func idThatIsAnEntrysIsTaken() async throws {
        try await withBench { bench in
            let id = "9999999999999-1"
            _ = try await bench.call(RedisCommand("XADD", keys.jobs, id, "x", "1"))
            _ = try await bench.call(RedisCommand("XREADGROUP", "GROUP", "fanfare", "w1", "STREAMS", keys.jobs, ">"))
            let job = Job(id: id, hasOwnID: true, entryID: id, target: tokens(1), message: Array("{}".utf8))
            let short = try #require(bench.intakeCall(job, taker: "w1").shortCall())
            _ = try await bench.call(FunctionLibrary.coalesce(.intake, keys, [short]))
            #expect(try await bench.call(RedisCommand("GET", keys.base + "seen:\(id)")).string == id)
        }
    }

    /// A right that is missing in the middle of a hand-over leaves every entry of the call in `jobs`.
    @Test func failedHandOverTakesNoEntry() async throws {
        try await withBench { bench in
            var calls: [RedisCommand] = []
            for id in [nil, "own"] {
                calls.append(try #require(bench.intakeCall(try await bench.readJob(id), taker: "w1").shortCall()))
            }
            _ = try await bench.call(RedisCommand("ACL", "SETUSER", "default", "-set"))
            let failed = try await bench.call(FunctionLibrary.coalesce(.intake, keys, calls)).array ?? []
            #expect(failed.count == 2 && failed.allSatisfy { if case .error = $0 { true } else { false } })
            _ = try await bench.call(RedisCommand("ACL", "SETUSER", "default", "+set"))
            #expect(try await bench.call(RedisCommand("XLEN", keys.jobs)).integer == 2)
            let again = try await bench.call(FunctionLibrary.coalesce(.intake, keys, calls)).array ?? []
            for reply in again {
                guard case .taken? = IntakeReply(reply) else { throw TestFailure("\(reply)") }
            }
        }
    }
}
