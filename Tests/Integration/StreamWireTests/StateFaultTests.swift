import FanfareModel
import RedisTransport
import StreamWire
import TestSupport
import Testing

/// Every command of the library is refused in turn, and every key holds a wrong type in turn, while each call of a scenario is
/// made twice; then the way is clear, and a call that failed is repeated. The table is made from the library's text.
@Suite struct StateFaultTests {
    private static let text = String(decoding: FunctionLibrary.source, as: UTF8.self)

    private static func commands() -> [String] {
        var names: Set<String> = []
        for match in text.matches(of: /(?:call\(|write\(|=\s*\{)\s*'([A-Z]+)'(?:,\s*'([A-Z]+)')?/) {
            let name = match.1.lowercased()
            let isContainer = ["xgroup", "xinfo"].contains(name)
            names.insert(isContainer ? "\(name)|\(match.2?.lowercased() ?? "")" : name)
        }
        return names.sorted()
    }

    /// Names after the base; names of a job, a batch or a worker end in what the scenario has.
    private static func keys() -> [String] {
        var names: Set<String> = []
        for match in text.matches(of: /[bB]ase \.\. '([a-z_]+)(:?)'/) {
            switch (String(match.1), match.2.isEmpty) {
            // A string itself.
            case ("seen", _): break
            case ("b", false): names.formUnion(["b:f/0", "b:one/0"])
            case ("claims", false), ("compact", false): names.insert("\(match.1):w1")
            case (let name, false): names.formUnion(["\(name):f", "\(name):one"])
            case (let name, true): names.insert(name)
            }
        }
        // Some are called by a local's name only.
        for match in text.matches(of: /([a-z_]+) = '(?:set|zset|list|hash|stream)'/) { names.insert(String(match.1)) }
        return names.sorted()
    }

    private func denied(_ command: String) -> FaultRun.Fault {
        .init(
            name: "-\(command)",
            set: { _ = try await $0.call(RedisCommand("ACL", "SETUSER", "default", "-" + command)) },
            lift: { _ = try await $0.call(RedisCommand("ACL", "SETUSER", "default", "+" + command)) }
        )
    }

    private func spoiled(_ name: String) -> FaultRun.Fault {
        let (key, aside) = (LibraryBench.keys.base + name, "aside")
        // The map of results is a string.
        let isMap = name.hasPrefix("done")
        return .init(
            name: "spoilt \(name)",
            set: { bench in
                if try await bench.call(RedisCommand("EXISTS", key)).integer == 1 {
                    _ = try await bench.call(RedisCommand("RENAME", key, aside))
                }
                _ = try await bench.call(RedisCommand(isMap ? "RPUSH" : "SET", key, "spoilt"))
            },
            lift: { bench in
                let isThere = try await bench.call(RedisCommand("TYPE", key)).string == (isMap ? "list" : "string")
                if isThere { _ = try await bench.call(RedisCommand("DEL", key)) }
                if try await bench.call(RedisCommand("EXISTS", aside)).integer == 1 {
                    // What the call took away or wrote again stays so.
                    _ = try await bench.call(isThere ? RedisCommand("RENAME", aside, key) : RedisCommand("DEL", aside))
                }
            }
        )
    }

    private func scenario(_ run: FaultRun) async throws -> [String: [RecordCall.Status]] {
        run.outcome = { job, index, attempts in
            if index % 7 == 0 { return .status(job == "compact" ? .sent : .failed) }
            return index % 5 == 1 && attempts == 0 ? .retry : .status(.sent)
        }
        let call = run.bench.intakeCall(try await run.push("compact", tokens(1)), taker: "w1")
        if let job = try await run.takeCompact([call], "w1")["compact"] {
            try await run.record(run.bench.record(of: job), "w1")
        }
        try await run.intake(try await run.push("one", tokens(1)))
        try await run.intake(try await run.pushList("f", 20))
        try await run.work(rounds: 5)
        try await run.clearTheWay()
        try await run.work(rounds: 5)
        return ["f": (0..<20).map { $0 % 7 == 0 ? .failed : .sent }, "one": [.failed], "compact": [.sent]]
    }

    private func nothingIsLost(_ faults: [FaultRun.Fault], leastStopped: Int) async throws {
        let server = try RedisServer(config: ["--appendonly", "no"])
        let client = try await RedisClient.connect(server.endpoint)
        defer {
            client.close()
            server.stop()
        }
        _ = try await client.send(FaultyLibrary.load())
        let bench = LibraryBench(server: server, client: client)
        var stopped = 0
        for fault in faults {
            let run = try await FaultRun(bench, fault: fault)
            do {
                let expected = try await scenario(run)
                let wrong = try await run.audit(expected)
                #expect(wrong == [], "\(fault.name)")
            } catch {
                Issue.record("\(fault.name): \(error)")
            }
            if run.stopped > 0 { stopped += 1 }
        }
        #expect(stopped >= leastStopped, "\(stopped) of \(faults.count) stood in the way")
    }

    @Test func refusedCommandsLoseNothing() async throws {
        try await nothingIsLost(Self.commands().map(denied), leastStopped: 30)
    }

    @Test func keysOfTheWrongTypeLoseNothing() async throws {
        try await nothingIsLost(Self.keys().map(spoiled), leastStopped: 25)
    }

    /// A worker hears which key and which command it is.
    @Test func checkNamesWrongTypesAndMissingRights() async throws {
        try await withBench { bench in
            #expect(RedisFault.parse(try await bench.call(FunctionLibrary.check(bench.keys))) == [])
            _ = try await bench.call(RedisCommand("SET", bench.keys.base + "dead", "no stream"))
            _ = try await bench.call(RedisCommand("ACL", "SETUSER", "default", "-xadd"))
            let dead = bench.keys.base + "dead"
            #expect(
                RedisFault.parse(try await bench.call(FunctionLibrary.check(bench.keys))) == [
                    .command(name: "XADD", key: bench.keys.base + "ctl"),
                    .type(key: dead, found: "string", needed: "stream"),
                ]
            )
        }
    }

    /// While its outgoing stream is spoilt, however often a flush is repeated, one copy leaves.
    @Test func repeatedFlushesWriteNoFurtherCopies() async throws {
        try await withBench { bench in
            try await bench.intake("two", tokens(2))
            let claim = try #require(try await bench.claim("w1").claims.first)
            var record = RecordCall(job: "two", batch: "0", epoch: claim.epoch)
            record.results = ResultBuffer([bench.sent(0), bench.sent(1)])
            record.feedback = [
                .init(index: 0, kind: "token", recipient: "t0", action: "remove", replacement: "", error: "X")
            ]
            record.finish = true
            let feedback = bench.keys.base + "feedback"
            _ = try await bench.call(RedisCommand("SET", feedback, "no stream"))
            for _ in 0..<5 {
                await #expect(throws: RedisError.self) { try await bench.record(record, "w1") }
            }
            _ = try await bench.call(RedisCommand("DEL", feedback))
            #expect(try await bench.record(record, "w1") == .ok())
            #expect(try await bench.call(RedisCommand("XLEN", bench.keys.base + "results")).integer == 2)
            #expect(try await bench.call(RedisCommand("XLEN", feedback)).integer == 1)
            #expect(try await bench.job("two")["sent"] == "2")
        }
    }

    /// A job that an earlier library left with a full map and open recipients.
    @Test func repairEndsAJobWithAFullMap() async throws {
        try await withBench { bench in
            try await bench.intake("old", tokens(16))
            let claim = try #require(try await bench.claim("w1").claims.first)
            var record = RecordCall(job: "old", batch: "0", epoch: claim.epoch)
            record.results = ResultBuffer((0..<4).map { bench.sent($0) })
            #expect(try await bench.record(record, "w1") == .ok())
            let none = try #require(
                RepairReply(try await bench.call(FunctionLibrary.repair(bench.keys, cursor: "0", most: 100)))
            )
            #expect(none.jobs == [:] && none.cursor == "0")

            for bit in 4..<16 {
                _ = try await bench.call(RedisCommand("SETBIT", bench.keys.base + "done:old", String(bit), "1"))
            }
            let reply = try #require(
                RepairReply(try await bench.call(FunctionLibrary.repair(bench.keys, cursor: "0", most: 100)))
            )
            #expect(reply.jobs == ["old": 12])
            let job = try await bench.job("old")
            #expect(job["state"] == "done" && job["sent"] == "4" && job["unknown"] == "12")
            #expect(try await bench.call(RedisCommand("HGET", bench.keys.base + "ctl", "left")).string == "0")
            #expect(try await bench.call(RedisCommand("EXISTS", bench.keys.base + "spec:old")).integer == 0)
        }
    }
}
