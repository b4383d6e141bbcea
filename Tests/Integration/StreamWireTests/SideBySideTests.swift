import FanfareModel
import Foundation
import RedisTransport
import StreamWire
import TestSupport
import Testing

/// Version 1 and the current version of the library on one state: each reads, continues and ends what the other has written.
@Suite struct SideBySideTests {
    private func withBoth(
        load: (LibraryVersion) throws -> RedisCommand,
        _ body: (LibraryBench) async throws -> Void
    ) async throws {
        let server = try RedisServer(config: ["--appendonly", "no"])
        let client = try await RedisClient.connect(server.endpoint)
        defer {
            client.close()
            server.stop()
        }
        for version in LibraryVersion.allCases { _ = try await client.send(load(version)) }
        try await body(LibraryBench(server: server, client: client))
    }

    /// - Parameter nowMs: Unix milliseconds at which both versions' time of the day stands still; nil for Redis TIME.
    private func withBench(nowMs: Int64? = nil, _ body: (LibraryBench) async throws -> Void) async throws {
        func load(_ version: LibraryVersion) throws -> RedisCommand {
            var text = try version.source()
            if let nowMs { text = LibraryBench.stoppingTheClock(at: nowMs, in: text) }
            return RedisCommand("FUNCTION", "LOAD", text)
        }
        try await withBoth(load: load) { bench in
            _ = try await bench.call(JobStream.createGroup(bench.keys))
            for worker in ["w1", "w2"] { try await bench.register(worker) }
            try await body(bench)
        }
    }

    /// Wherever the first version stops, the second one continues.
    @Test(arguments: Scenario.all, LibraryVersion.allCases)
    func scenariosMayChangeTheVersionAfterAnyCall(scenario: Scenario, first: LibraryVersion) async throws {
        try await withBoth(load: FaultyLibrary.load) { bench in
            let clean = try await FaultRun(bench) { _, _ in first }
            #expect(try await clean.audit(scenario.play(clean)) == [])
            for last in 1...clean.calls {
                let run = try await FaultRun(bench) { call, _ in call <= last ? first : first.other }
                let expected = try await scenario.play(run)
                #expect(try await run.audit(expected) == [], "changed after call \(last)")
            }
            let run = try await FaultRun(bench) { call, _ in call.isMultiple(of: 2) ? first : first.other }
            let expected = try await scenario.play(run)
            #expect(try await run.audit(expected) == [], "changed at every call")
        }
    }

    /// A step that one version has noted, and not made, is made by the other one.
    @Test(arguments: [Scenario.singles, .fanout, .operators], LibraryVersion.allCases)
    func stepsOfAFailedCallAreMadeByTheOtherVersion(scenario: Scenario, first: LibraryVersion) async throws {
        try await withBoth(load: FaultyLibrary.load) { bench in
            let clean = try await FaultRun(bench)
            _ = try await scenario.play(clean)
            var noted = 0
            for call in 1...clean.calls {
                for k in 1... {
                    let run = try await FaultRun(bench, faultyCall: call, k: k) { number, isRepeated in
                        number < call || (number == call && !isRepeated) ? first : first.other
                    }
                    let expected = try await scenario.play(run)
                    guard run.wasHit else { break }
                    noted += 1
                    #expect(try await run.audit(expected) == [], "call \(call), command \(k)")
                }
            }
            #expect(noted > 10, "\(noted) faults")
        }
    }

    @Test(arguments: LibraryVersion.allCases)
    func jobsOfEveryClassAreFinishedByTheOtherVersion(first: LibraryVersion) async throws {
        try await withBench { bench in
            let (old, new) = (bench.with(first), bench.with(first.other))
            let targets: [(String, Target)] = [
                ("single", tokens(3)), ("fanout", tokens(1_200)), ("topic", .topic("news")), ("group", .group("g")),
            ]
            for (id, target) in targets { try await old.intake(id, target) }
            try await old.intake("managed", tokens(2)) { $0.operation = .subscribe }
            // Some of each is in a worker's hands, sent or about to wait for a retry.
            for claim in try await old.claim(call("w1", most: 8)).claims where claim.recipients.count > 1 {
                try await old.retry(0, attempts: 0, of: claim, "w1")
                try await old.retry(1, of: claim, "w1", number: 2)
            }
            let waiting = ["again", "retry", "retry_many", "again_managed"]
            for set in waiting {
                #expect(try await bench.call(RedisCommand("ZCARD", bench.keys.base + set)).integer ?? 0 > 0, "\(set)")
            }
            try await new.declareDead("w1")
            for _ in 0..<10 {
                for claim in try await new.claim(call("w2", most: 20)).claims { try await finishOpen(claim, "w2", new) }
                // FCM is done with the topic.
                _ = try await bench.call(RedisCommand("DEL", bench.keys.base + "active"))
            }
            for id in targets.map(\.0) + ["managed"] {
                let job = try await bench.job(id)
                #expect(job["state"] == "done" && job["sent"] == job["total"], "\(id): \(job)")
            }
            #expect(try await bench.call(RedisCommand("HGET", bench.keys.base + "ctl", "left")).string == "0")
        }
    }

    @Test(arguments: LibraryVersion.allCases)
    func parkedPausedAndBlockedJobsGoOnInTheOtherVersion(first: LibraryVersion) async throws {
        try await withBench { bench in
            let (old, new) = (bench.with(first), bench.with(first.other))
            let audience = "audience:{p}:a"
            _ = try await bench.call(RedisCommand("RPUSH", audience, "a", "b"))
            try await old.intake("parked", .audience(key: audience))
            _ = try await bench.call(RedisCommand("RPUSH", audience, "c"))
            #expect(try await old.claim(call("w1")).claims.isEmpty)
            #expect(try await bench.job("parked")["state"] == "parked")
            try await old.intake("paused", tokens(2))
            _ = try await old.call(FunctionLibrary.pause(bench.keys, job: "paused"))
            try await old.intake("blocked", tokens(1))
            let claim = try #require(try await old.claim(call("w1")).claims.first)
            var record = RecordCall(job: claim.job, batch: claim.batch, epoch: claim.epoch)
            record.retries = [.init(index: 0, dueMs: 1, parked: true, packed: "0|0|0|t0")]
            record.blockReason = "HTTP 403: no permission"
            record.finish = true
            #expect(try await old.record(record, "w1") == .ok())

            let blocked = try await new.claim(call("w2"))
            #expect(blocked.claims.isEmpty && blocked.probeMs > 0 && blocked.blockReason == record.blockReason)
            #expect(blocked.news.contains { if case .stop(job: "parked", _) = $0 { true } else { false } })
            #expect(blocked.news.contains { if case .stop(job: "paused", _) = $0 { true } else { false } })
            _ = try await new.call(FunctionLibrary.resumeProject(bench.keys))
            let probe = try #require(try await new.claim(call("w2")).claims.first)
            #expect(probe.isProbe)
            var answer = RecordCall(job: probe.job, batch: probe.batch, epoch: probe.epoch)
            answer.results = ResultBuffer([bench.sent(probe.recipients[0].index)])
            answer.projectAnswers = true
            answer.finish = true
            #expect(try await new.record(answer, "w2") == .ok())

            _ = try await bench.call(RedisCommand("LREM", audience, "1", "c"))
            let dead = try await bench.call(RedisCommand("XRANGE", bench.keys.dead, "-", "+")).array?.first
            _ = try await new.call(
                FunctionLibrary.replay(bench.keys, entryID: dead?.array?.first?.string ?? "")
            )
            _ = try await new.call(FunctionLibrary.resume(bench.keys, job: "paused"))
            for _ in 0..<3 {
                for claim in try await new.claim(call("w2")).claims { try await finishOpen(claim, "w2", new) }
            }
            for id in ["parked", "paused", "blocked"] { #expect(try await bench.job(id)["state"] == "done", "\(id)") }
        }
    }

    @Test(arguments: LibraryVersion.allCases)
    func paceHoldsAndRefusedRatesAreShared(first: LibraryVersion) async throws {
        // Ids of streams follow the real time.
        try await withBench(nowMs: Int64(Date().timeIntervalSince1970 * 1_000)) { bench in
            let (old, new) = (bench.with(first), bench.with(first.other))
            var asks = call("w1", most: 0)
            (asks.quotaPerMinute, asks.permitsSingle, asks.multicast) = (600, 100, 0)
            #expect(try await old.claim(asks).permits == 2)
            #expect(try await new.claim(asks).permits == 0, "the bucket is one")
            // A multicast of the one version puts the other one's fan-out share into debt.
            (asks.permitsSingle, asks.permitsFanout, asks.multicast) = (0, 100, 100)
            _ = try await bench.call(RedisCommand("HSET", bench.keys.base + "ctl", "have", "2"))
            #expect(try await old.claim(asks).permits == 100)
            #expect(try await new.claim(asks).permits == 0)
            for (name, version) in [("a", old), ("b", new)] {
                try await old.intake(name, tokens(1))
                let claim = try #require(try await version.claim(call("w1")).claims.first)
                var record = RecordCall(job: name, batch: claim.batch, epoch: claim.epoch)
                record.refusedRates = [.init(recipient: "token:t0", untilMs: 4_000_000_000_000)]
                #expect(try await version.record(record, "w1") == .ok())
            }
            let wait = FunctionLibrary.pace(bench.keys, recipient: "token:t0")
            for version in [old, new] { #expect(try await version.call(wait).integer ?? 0 > 1_000_000) }
            let news = try await new.claim(call("w2")).news
            #expect(news.contains(.rate(recipient: "token:t0", untilMs: 4_000_000_000_000)))
            _ = try await old.call(FunctionLibrary.hold(bench.keys, milliseconds: 30_000))
            #expect(try await new.claim(call("w2")).holdMs == 30_000)
        }
    }

    /// Version 1 ignores a block that a worker before it reports because the API of an operation refused it.
    @Test func refusedOperationOfAnEarlierWorkerBlocksNoSend() async throws {
        try await withBench { bench in
            let old = bench.with(.one)
            try await old.intake("op", tokens(2)) { $0.operation = .subscribe }
            let claim = try #require(try await old.claim(call("w1")).claims.first)
            var record = RecordCall(job: claim.job, batch: claim.batch, epoch: claim.epoch)
            record.retries = [.init(index: 0, dueMs: 1, parked: true, packed: "0|0|0|t")]
            record.blockReason = "HTTP 404 NOT_FOUND: not found: check the project id and the endpoint"
            #expect(try await old.record(record, "w1") == .ok())
            #expect(try await bench.job("op")["state"] != "paused")
            try await old.intake("send", tokens(2))
            let reply = try await bench.claim(call("w2"))
            #expect(reply.probeMs == 0 && reply.claims.map(\.job) == ["send"])
        }
    }

    private func call(_ worker: String, most: Int = 10) -> ClaimCall {
        var call = ClaimCall(
            worker: worker,
            most: most,
            wanted: 10_000,
            wantedSingle: 10_000,
            window: 1_000,
            retries: 10_000,
            quotaPerMinute: 600_000
        )
        call.wantedManaged = 1_000
        return call
    }

    /// Everything of a claim that has no result gets one.
    private func finishOpen(_ claim: Claim, _ worker: String, _ bench: LibraryBench) async throws {
        var open = claim
        open.recipients.removeAll { $0.progress == .settled }
        try await bench.finish(open, worker)
    }
}
