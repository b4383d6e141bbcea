import FanfareJSON
import FanfareModel
import FanfareRedis
import RedisTransport
import StreamWire
import TestSupport
import Testing

@testable import FanfareClient

/// Fleet snapshots against a real server, with the test as the worker.
@Suite struct FleetTests {
    private typealias Bench = OperatorTests.Bench

    private func withBench(_ body: (Bench) async throws -> Void) async throws {
        let server = try RedisServer()
        let client = try await RedisClient.connect(server.endpoint)
        defer {
            client.close()
            server.stop()
        }
        let keys = ProjectKeys(project: "demo")
        _ = try await client.send(FunctionLibrary.load())
        _ = try await client.send(RedisCommand("SADD", ProjectKeys.projects(), "demo"))
        _ = try await client.send(JobStream.createGroup(keys))
        _ = try await client.send(FunctionLibrary.register(keys, worker: "host-1.abc.1"))
        try await body(Bench(server: server, client: client, keys: keys, worker: "host-1.abc.1"))
    }

    private func read(_ bench: Bench) async throws -> ProjectSnapshot {
        try #require(try await FleetReader(redis: bench.client).read()["demo"])
    }

    private func many(_ count: Int) -> Target { .tokens((0..<count).map { "t\($0)" }) }

    /// Records a result for every recipient of a claim.
    private func finish(_ claim: Claim, _ bench: Bench, _ status: (Int) -> RecordCall.Status) async throws {
        var call = RecordCall(job: claim.job, batch: claim.batch, epoch: claim.epoch)
        for index in claim.recipients.map(\.index) { call.results.append(index: index, status: status(index)) }
        call.finish = true
        call.number = 1
        let reply = try await bench.client.send(call.command(bench.keys, worker: bench.worker))
        #expect(RecordReply(reply) == .ok())
    }

    @Test func fleetListsFanoutsInTheOrderOfTheQueue() async throws {
        try await withBench { bench in
            try await bench.intake("first", many(1_500))
            try await bench.intake("second", many(1_200))
            try await bench.intake("urgent", many(1_100), priority: 8)
            try await bench.claim(most: 1)
            try await bench.intake("one", .tokens(["a"]))
            let project = try await read(bench)
            // Which one was first is decided by the first claim.
            #expect(project.holding.map(\.status.id) == ["urgent"])
            #expect(project.queued.map(\.status.id) == ["first", "second"])
            #expect(project.others.map(\.status.id) == ["one"])
            #expect(project.holding.first?.priority == 8 && project.queued.first?.jobClass == .fanout)
            #expect(
                project.queued.contains { $0.status.id == "second" && $0.priority == 5 },
                "the usual is not written"
            )
            #expect(project.overview.waitingFanouts == 2 && project.waitingSingles == 1)
            #expect(project.recipientsWaiting == 1_500 + 1_200 + 1_100 + 1)
            #expect(project.leases.first?.batches == 1 && project.condition.word == "working")
        }
    }

    @Test func workingProjectSaysWhyItIsBehindItsRamp() {
        var overview = OverviewReply(nowMs: 1)
        (overview.entries, overview.workersAlive) = (1, 1)
        #expect(overview.condition == .init(word: "working"))
        overview.paceReason = "pace: 13 of 656 sends a second: FCM has not answered for 9 s"
        #expect(overview.condition == .init(word: "working", reason: overview.paceReason))
        overview.isRecovering = true
        #expect(overview.condition.reason == "slowly, after a hold")
    }

    @Test(arguments: ["results", "jobs", "dead", "queue"])
    func projectWithAKeyOfTheWrongTypeSaysSoAndHidesNoOther(_ key: String) async throws {
        try await withBench { bench in
            let other = ProjectKeys(project: "shop")
            _ = try await bench.client.send(RedisCommand("SADD", ProjectKeys.projects(), "shop"))
            _ = try await bench.client.send(RedisCommand("SET", other.base + key, "x"))
            let fleet = try await FleetReader(redis: bench.client).read()
            #expect(fleet["demo"]?.condition.word == "idle")
            let condition = try #require(fleet["shop"]?.condition)
            #expect(condition.word == "unreadable")
            #expect(condition.reason?.hasPrefix("\(other.base)\(key) is a string, must be a ") == true)
            _ = try await bench.client.send(RedisCommand("DEL", other.base + key))
            #expect(try await FleetReader(redis: bench.client).read("shop").fault == nil)
        }
    }

    @Test func fleetCountsWaitingRecipientsAndResults() async throws {
        try await withBench { bench in
            try await bench.intake("j", many(10))
            try await bench.intake("held", many(5))
            _ = try await bench.projectOperator.pause("held")
            let claim = try #require(try await bench.claim().claims.first)
            var call = RecordCall(job: "j", batch: claim.batch, epoch: claim.epoch)
            let history = RecipientHistory(attempts: 1, firstAttemptMs: 1, maybeDuplicate: false)
            for index in 0..<6 { call.results.append(index: index, status: index < 4 ? .sent : .failed) }
            call.retries = [.init(index: 6, dueMs: .max / 2, parked: false, packed: history.packed(with: "t6"))]
            call.number = 1
            // Said twice, it counts once.
            for _ in 0..<2 { _ = try await bench.client.send(call.command(bench.keys, worker: bench.worker)) }
            let project = try await read(bench)
            #expect(project.recipientsWaiting == 4 + 5)
            #expect(project.tally.sent == 4 && project.tally.failed == 2 && project.tally.retries == 1)
            #expect(Set(project.others.map(\.status.state.rawValue)) == ["active", "paused"])
            _ = try await bench.projectOperator.resume("held")
            let rest = try #require(try await bench.claim().claims.first { $0.job == "held" })
            try await finish(rest, bench) { _ in .unknown }
            let after = try await read(bench)
            #expect(after.recipientsWaiting == 4 && after.tally.unknown == 5)
        }
    }

    @Test func fleetListsParkedJobsSeparately() async throws {
        try await withBench { bench in
            try await bench.park("p")
            _ = try await bench.reject("r")
            let project = try await read(bench)
            #expect(project.parked.map(\.status.id) == ["p"] && project.dead == 2)
            #expect(project.recipientsWaiting == 0 && project.others.isEmpty)
        }
    }

    @Test func oldestWaitIsThatOfTheOldestUnstartedJob() async throws {
        try await withBench { bench in
            #expect(try await read(bench).oldestWaitMs == 0)
            // An entry of long ago, by its id.
            _ = try await bench.client.send(RedisCommand("XADD", bench.keys.jobs, "1000-1", "id", "old"))
            let waits = try await read(bench).oldestWaitMs
            #expect(waits > 1_000_000_000_000)
            _ = try await bench.client.send(
                RedisCommand(
                    "XREADGROUP",
                    "GROUP",
                    ProjectKeys.group,
                    "x",
                    "COUNT",
                    "1",
                    "STREAMS",
                    bench.keys.jobs,
                    ">"
                )
            )
            let pending = try await read(bench)
            #expect(pending.oldestWaitMs >= waits && pending.overview.entries == 1)
        }
    }

    @Test func unreadResultsCountTheSlowestGroup() async throws {
        try await withBench { bench in
            try await bench.intake("j", many(3))
            let claim = try #require(try await bench.claim().claims.first)
            var call = RecordCall(job: "j", batch: claim.batch, epoch: claim.epoch)
            call.results.append(index: 0, status: .sent, object: .wanted) { $0 += Array(#"{"i":0}"#.utf8) }
            call.number = 1
            _ = try await bench.client.send(call.command(bench.keys, worker: bench.worker))
            #expect(try await read(bench).unreadResults == nil)
            let results = bench.keys.results
            _ = try await bench.client.send(RedisCommand("XGROUP", "CREATE", results, "quick", "$"))
            _ = try await bench.client.send(RedisCommand("XGROUP", "CREATE", results, "slow", "0"))
            let project = try await read(bench)
            #expect(project.unreadResults == 1 && project.results == 1)
        }
    }

    @Test func workerIsAliveUntilItsLeaseExpires() async throws {
        try await withBench { bench in
            let unknown = try #require(try await read(bench).leases.first)
            #expect(unknown.isAlive && unknown.card == nil && unknown.silentMs == nil)
            let about = #"{"version":"9.8.7","host":"h|1","pid":7,"started_ms":5,"lease_ms":60000,"in_flight":12}"#
            let renewal = FunctionLibrary.renew(.init(bench.keys, worker: bench.worker, about: about))
            _ = try await bench.client.send(renewal)
            let snapshot = try await FleetReader(redis: bench.client, projects: ["other"]).read()
            let worker = try #require(snapshot.workers.first)
            #expect(snapshot.projects.map(\.id) == ["demo", "other"] && snapshot.workersAlive == 1)
            #expect(worker.name == "host-1.abc" && worker.inFlight == 12 && worker.card?.host == "h|1")
            // Silent for longer than its lease.
            let quiet = #"1|{"version":"1","host":"h","pid":7,"started_ms":5,"lease_ms":10000,"in_flight":3}"#
            _ = try await bench.client.send(RedisCommand("HSET", bench.keys.base + "about", bench.worker, quiet))
            let after = try await FleetReader(redis: bench.client).read()
            #expect(after.workersAlive == 0 && after["demo"]?.inFlight == 0)
            _ = try await bench.client.send(FunctionLibrary.deregister(bench.keys, worker: bench.worker))
            #expect(try await bench.client.send(RedisCommand("EXISTS", bench.keys.base + "about")).integer == 0)
        }
    }

    @Test func replyOfAnotherVersionKeepsKnownFields() throws {
        func flat(_ words: [String]) -> RedisValue { .array(words.map { .bulk(Array($0.utf8)) }) }
        let known = try #require(ProjectSnapshot(id: "p", reply: flat(["now_ms", "5", "left", "-3", "later", "x"])))
        #expect(known.recipientsWaiting == 0 && known.overview.nowMs == 5 && known.holding.isEmpty)
        #expect(ProjectSnapshot(id: "p", reply: .array([])) == nil)
        #expect(ProjectSnapshot(id: "p", reply: flat(["left", "1"])) == nil)
        let odd = RedisValue.array([
            .bulk(Array("now_ms".utf8)), .integer(1), .bulk(Array("leases".utf8)),
            .array([.integer(1), .array([.null])]),
            .bulk(Array("holding".utf8)), .array([.null, .array([.integer(1)])]),
        ])
        #expect(ProjectSnapshot(id: "p", reply: odd)?.leases.isEmpty == true)
    }
}
