import FanfareModel
import RedisTransport
import StreamWire
import TestSupport
import Testing

/// Calls of workers and operators from the first to the last, with the status that each recipient must have then.
struct Scenario: CustomTestStringConvertible, Sendable {
    let testDescription: String
    /// Returns by job the status of each recipient.
    let play: @Sendable (FaultRun) async throws -> [String: [RecordCall.Status]]

    init(_ name: String, _ play: @escaping @Sendable (FaultRun) async throws -> [String: [RecordCall.Status]]) {
        testDescription = name
        self.play = play
    }
}

extension Scenario {
    /// The scenarios that every version of the library can play.
    static let all = [singles, fanout, retries, operators, deadWorkers, audienceAndTimes, rejection]

    static let singles = Scenario("singles") { run in
        let keys = run.bench.keys
        var calls: [RedisCommand] = []
        for id in ["a", "b", "a"] {
            let job = try await run.push(id, .tokens(["t"]))
            calls.append(run.bench.intakeCall(job, taker: "w1").command(keys))
        }
        let replies = try await run.call(FunctionLibrary.coalesce(.intake, keys, calls), claimer: "w1").array ?? []
        var records: [RedisCommand] = []
        for (id, reply) in zip(["a", "b"], replies) {
            guard case .taken(let epoch, _, _)? = IntakeReply(reply) else { continue }
            var record = RecordCall(job: id, batch: "0", epoch: epoch)
            record.results = ResultBuffer([OneResult(index: 0, object: "{\"i\":0,\"s\":\"sent\"}")])
            record.finish = true
            records.append(record.command(keys, worker: "w1"))
        }
        if !records.isEmpty { try await run.call(FunctionLibrary.coalesce(.record, keys, records)) }
        try await run.work(rounds: 3)
        return ["a": [.sent], "b": [.sent]]
    }

    static let fanout = Scenario("fan-out") { run in
        run.outcome = { _, index, attempts in
            if index % 7 == 0 { return .status(.failed) }
            return index % 5 == 1 && attempts == 0 ? .retry : .status(.sent)
        }
        try await run.intake(try await run.pushList("f", 20))
        try await run.work()
        return ["f": (0..<20).map { $0 % 7 == 0 ? .failed : .sent }]
    }

    static let retries = Scenario("retries") { run in
        run.outcome = { _, index, attempts in index % 2 == 1 && attempts < 2 ? .retry : .status(.sent) }
        try await run.intake(try await run.push("r", tokens(5)))
        try await run.intake(try await run.push("one", tokens(1)))
        try await run.work()
        return ["r": Array(repeating: .sent, count: 5), "one": [.sent]]
    }

    static let operators = Scenario("operators") { run in
        let keys = run.bench.keys
        try await run.intake(try await run.pushList("c", 20))
        try await run.call(FunctionLibrary.pause(keys, job: "c"))
        try await run.call(FunctionLibrary.resume(keys, job: "c"))
        try await run.call(FunctionLibrary.pause(keys, job: "c"))
        try await run.call(FunctionLibrary.cancel(keys, job: "c"))
        try await run.work()
        return ["c": Array(repeating: .cancelled, count: 20)]
    }

    static let deadWorkers = Scenario("dead workers") { run in
        let (bench, keys) = (run.bench, run.bench.keys)
        try await run.intake(try await run.pushList("b", 20))
        _ = try await run.claim("w2", window: 0, most: 1)
        let counter = try await bench.call(RedisCommand("HGET", keys.base + "leases", "w2")).string ?? ""
        try await run.call(FunctionLibrary.declareDead(keys, worker: "w2", counter: counter))
        let taken = try await run.claim(window: 0, most: 1).claims.first
        if let taken {
            let release = FunctionLibrary.release(
                keys,
                worker: "w1",
                batch: taken.name,
                epoch: taken.epoch,
                watermark: 0
            )
            try await run.call(release)
        }
        try await run.call(FunctionLibrary.reconcile(keys, worker: "w1", isSameServer: true, known: []))
        try await run.work()
        try await run.call(FunctionLibrary.deregister(keys, worker: "w1"))
        return ["b": Array(repeating: .sent, count: 20)]
    }

    static let audienceAndTimes = Scenario("audience and times") { run in
        let (bench, base) = (run.bench, run.bench.keys.base)
        for member in 0..<20 {
            _ = try await bench.call(RedisCommand("SADD", base + "audience", "m\(member)"))
        }
        try await run.intake(try await run.push("set", .audience(key: base + "audience")))
        let soon = try await run.push("soon", tokens(2)) { $0.notBefore = 4_000_000_000_000 }
        try await run.intake(soon)
        _ = try await bench.call(RedisCommand("ZADD", base + "sched", "1", "soon"))
        let late = try await run.push("late", tokens(2)) {
            $0.notBefore = 4_000_000_000_000
            $0.expiresAt = 4_000_000_100_000
        }
        try await run.intake(late)
        _ = try await bench.call(RedisCommand("ZADD", base + "expiring", "1", "late"))
        try await run.work(rounds: 5)
        return ["set": Array(repeating: .sent, count: 20), "soon": [.sent, .sent], "late": [.expired, .expired]]
    }

    /// A rejected entry is in `jobs` or in `dead`, after whichever error.
    static let rejection = Scenario("rejection") { run in
        let (bench, keys) = (run.bench, run.bench.keys)
        let job = try await run.push("bad", tokens(1))
        try await run.call(
            FunctionLibrary.reject(
                keys,
                entryID: job.entryID,
                job: "bad",
                reason: "no good",
                keepMs: 60_000,
                fields: [("x", Array("1".utf8))]
            )
        )
        let dead = try await bench.call(RedisCommand("XRANGE", keys.base + "dead", "-", "+")).array ?? []
        #expect(!dead.isEmpty)
        #expect(try await bench.job("bad")["state"] == "rejected")
        for entry in dead {
            try await run.call(FunctionLibrary.drop(keys, entryID: entry.array?.first?.string ?? ""))
        }
        #expect(try await bench.call(RedisCommand("XLEN", keys.base + "dead")).integer == 0)
        return [:]
    }
}
