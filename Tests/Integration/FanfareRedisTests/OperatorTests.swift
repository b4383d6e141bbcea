import FanfareModel
import FanfareRedis
import RedisTransport
import StreamWire
import TestSupport
import Testing

@testable import FanfareClient

/// The operator's calls against a real server, with the test as the worker.
@Suite struct OperatorTests {
    private let keys = ProjectKeys(project: "demo")

    struct Bench {
        let server: RedisServer
        let client: RedisClient
        let keys: ProjectKeys
        var worker = "w"

        var projectOperator: FanfareOperator<RedisClient> { FanfareOperator(redis: client, project: keys.project) }

        /// Pushes a job and does its intake, as a worker would.
        func intake(_ id: String, _ target: Target, priority: Int = 5, audienceSize: Int64 = 0) async throws {
            let reply = try await client.send(RedisCommand("XADD", keys.jobs, "*", "x", "1"))
            let entry = try #require(reply.string)
            var job = Job(id: id, hasOwnID: true, entryID: entry, target: target, message: Array("{}".utf8))
            job.priority = priority
            job.audienceSize = audienceSize
            let call = IntakeCall(
                job: job,
                dedupeMs: 3_600_000,
                keepMs: 3_600_000,
                taker: nil,
                window: 128,
                quotaPerMinute: 600_000,
                fanoutRate: 10_000
            )
            #expect(IntakeReply(try await client.send(call.command(keys))) == .queued)
        }

        @discardableResult
        func claim(most: Int = 10) async throws -> ClaimReply {
            var call = ClaimCall(
                worker: worker,
                most: most,
                wanted: 10_000,
                wantedSingle: 10_000,
                window: 128,
                retries: 1_000,
                quotaPerMinute: 600_000
            )
            call.permitsFanout = 10
            guard case .reply(let reply)? = ClaimReply.parse(try await client.send(call.command(keys))) else {
                throw TestFailure("fenced or not parsed")
            }
            return reply
        }

        func reject(_ id: String) async throws -> String {
            let reply = try await client.send(RedisCommand("XADD", keys.jobs, "*", "token", "a b", "id", id))
            let entry = try #require(reply.string)
            let fields = [(name: "token", value: Array("a b".utf8)), (name: "id", value: Array(id.utf8))]
            let call = FunctionLibrary.reject(
                keys,
                entryID: entry,
                job: id,
                reason: "token: bad",
                keepMs: 3_600_000,
                fields: fields
            )
            #expect(try await client.send(call).string == "rejected")
            return entry
        }

        /// Parks a job of several batches: its list grows, and a claim finds that.
        func park(_ id: String) async throws {
            var push = RedisCommand("RPUSH", "list:{demo}:\(id)")
            for index in 0..<1_200 { push.append("t\(index)") }
            _ = try await client.send(push)
            try await intake(id, .audience(key: "list:{demo}:\(id)"))
            _ = try await client.send(RedisCommand("RPUSH", "list:{demo}:\(id)", "one-more"))
            try await claim()
        }

        func state(_ id: String) async throws -> JobStatus.State? {
            try await FanfareProducer(redis: client, project: keys.project).status(of: id)?.state
        }
    }

    private func withBench(_ body: (Bench) async throws -> Void) async throws {
        let server = try RedisServer()
        let client = try await RedisClient.connect(server.endpoint)
        defer {
            client.close()
            server.stop()
        }
        _ = try await client.send(FunctionLibrary.load())
        _ = try await client.send(JobStream.createGroup(keys))
        _ = try await client.send(FunctionLibrary.register(keys, worker: "w"))
        try await body(Bench(server: server, client: client, keys: keys))
    }

    private func many(_ count: Int) -> Target { .tokens((0..<count).map { "t\($0)" }) }

    @Test func operatorPausesResumesAndCancelsAJob() async throws {
        try await withBench { bench in
            let projectOperator = bench.projectOperator
            #expect(try await projectOperator.pause("j") == .missing)
            try await bench.intake("j", .tokens(["a", "b"]))
            #expect(try await projectOperator.pause("j") == .ok(state: "paused"))
            #expect(try await projectOperator.pause("j") == .ok(state: "paused"))
            #expect(try await bench.claim().claims.isEmpty)
            let paused = try #require(try await projectOperator.progress(of: "j"))
            #expect(paused.status.state == .paused && paused.heldBy == "paused by an operator")
            #expect(try await projectOperator.resume("j") == .ok(state: "waiting"))
            #expect(try await projectOperator.resume("j") == .ok(state: "waiting"))
            guard case .ok = try await projectOperator.cancel("j") else {
                Issue.record("not cancelled")
                return
            }
            let claim = try #require(try await bench.claim().claims.first)
            #expect(claim.recipients.count == 2)
        }
    }

    @Test func cancelFindsAJobThatNoWorkerHasTaken() async throws {
        try await withBench { bench in
            for index in 0..<30 {
                let id = "j\(index)"
                _ = try await bench.client.send(RedisCommand("XADD", bench.keys.jobs, "*", "id", id, "message", "{}"))
            }
            #expect(try await bench.projectOperator.cancel("j29") == .ok(state: "waiting"))
            #expect(try await bench.projectOperator.cancel("none") == .missing)
        }
    }

    /// The first push ends without an attempt, which frees its id: the second one would be sent.
    @Test func secondCancelOfAnIdFindsItsSecondPush() async throws {
        try await withBench { bench in
            try await bench.intake("j", .tokens(["a"]))
            _ = try await bench.projectOperator.cancel("j")
            let push = RedisCommand("XADD", bench.keys.jobs, "*", "id", "j", "message", "{}")
            let entry = try #require(try await bench.client.send(push).string)
            #expect(try await bench.projectOperator.cancel("j") == .ok(state: "waiting"))
            let unwanted = RedisCommand("SMEMBERS", bench.keys.base + "unwanted")
            #expect(try await bench.client.send(unwanted).array?.compactMap(\.string) == [entry])
        }
    }

    @Test func pauseOfOneJobTakesThePlaceOfThatOfAll() async throws {
        try await withBench { bench in
            let projectOperator = bench.projectOperator
            try await bench.intake("j", .tokens(["a"]))
            _ = try await projectOperator.pause("j", reason: "pause --all", scope: .all)
            _ = try await projectOperator.pause("j", reason: "keep this")
            #expect(try await projectOperator.pauseScope(of: "j") == .job)
            let reason = try await projectOperator.progress(of: "j")?.status.reason
            #expect(reason == "paused by an operator: keep this")
            _ = try await projectOperator.pause("j", reason: "pause --all", scope: .all)
            #expect(try await projectOperator.pauseScope(of: "j") == .job)
        }
    }

    @Test func parkedJobThatIsCancelledLeavesDead() async throws {
        try await withBench { bench in
            try await bench.park("one")
            try await bench.park("two")
            _ = try await bench.projectOperator.cancel("one")
            #expect(try await bench.projectOperator.deadEntries().map(\.job) == ["two"])
        }
    }

    @Test func finishedJobCannotBeChanged() async throws {
        try await withBench { bench in
            _ = try await bench.reject("j")
            #expect(try await bench.projectOperator.cancel("j") == .over(state: "rejected"))
            #expect(try await bench.projectOperator.pause("j") == .over(state: "rejected"))
            #expect(try await bench.projectOperator.resume("j") == .over(state: "rejected"))
        }
    }

    @Test func operatorPausesAndResumesAProject() async throws {
        try await withBench { bench in
            try await bench.intake("j", .tokens(["a"]))
            try await bench.projectOperator.pauseProject(reason: "lunch")
            let overview = try await bench.projectOperator.overview()
            #expect(overview.isPaused && overview.pauseReason == "lunch" && overview.open == 1)
            #expect(overview.workers == 1)
            #expect(try await bench.claim().claims.isEmpty)
            #expect(try await bench.projectOperator.progress(of: "j")?.heldBy == "the project is paused: lunch")
            try await bench.projectOperator.resumeProject()
            #expect(try await bench.projectOperator.overview().isPaused == false)
            #expect(try await bench.claim().claims.count == 1)
        }
    }

    @Test func progressShowsThePlaceInTheQueue() async throws {
        try await withBench { bench in
            try await bench.intake("first", many(2_001))
            try await bench.claim(most: 1)
            try await bench.intake("later", many(1_001), priority: 4)
            try await bench.intake("sooner", many(1_001))
            try await bench.intake("small", .tokens(["a"]))
            let projectOperator = bench.projectOperator
            #expect(try await projectOperator.progress(of: "first")?.turn == .holding(untilMs: nil))
            #expect(try await projectOperator.progress(of: "sooner")?.turn == .waiting(ahead: 0))
            let later = try #require(try await projectOperator.progress(of: "later"))
            #expect(later.turn == .waiting(ahead: 1) && later.jobClass == .fanout && later.heldBy == nil)
            #expect(later.resultsPerSecond == nil && later.remainingSeconds == nil)
            #expect(try await projectOperator.progress(of: "small")?.turn == JobProgress.Turn.none)
            #expect(try await projectOperator.progress(of: "nobody") == nil)
            let list = try await projectOperator.jobs()
            #expect(list.isWhole && list.jobs.map(\.id) == ["first", "sooner", "later", "small"])
            let short = try await projectOperator.jobs(limit: 2)
            #expect(!short.isWhole && short.jobs.map(\.id) == ["first", "sooner"])
            #expect(try await projectOperator.jobs(state: .active).jobs.map(\.id) == ["first"])
            #expect(try await projectOperator.overview().active == ["first"])
        }
    }

    @Test func listIncludesFinishedJobsOnlyOnRequest() async throws {
        try await withBench { bench in
            try await bench.intake("open", .tokens(["a"]))
            _ = try await bench.reject("bad")
            let projectOperator = bench.projectOperator
            #expect(try await projectOperator.jobs().jobs.map(\.id) == ["open"])
            #expect(Set(try await projectOperator.jobs(includingOver: true).jobs.map(\.id)) == ["open", "bad"])
            #expect(try await projectOperator.jobs(state: .rejected).jobs.map(\.id) == ["bad"])
            #expect(try await projectOperator.jobs(state: .parked).jobs.isEmpty)
        }
    }

    @Test func listHoldsEachOfHundredsOfJobsOnce() async throws {
        try await withBench { bench in
            for index in 0..<720 { try await bench.intake("job-\(index)", .tokens(["a"])) }
            let all = try await bench.projectOperator.jobs(includingOver: true, limit: 10_000)
            #expect(all.isWhole && all.jobs.count == 720 && Set(all.jobs.map(\.id)).count == 720)
            let some = try await bench.projectOperator.jobs(limit: 100)
            #expect(!some.isWhole && some.jobs.count == 100)
        }
    }

    @Test func replayPushesARejectedEntryUnchanged() async throws {
        try await withBench { bench in
            _ = try await bench.reject("j")
            let projectOperator = bench.projectOperator
            let dead = try #require(try await projectOperator.deadEntries().first)
            #expect(dead.kind == .rejected && dead.job == "j" && dead.reason == "token: bad")
            #expect(dead.originals.map(\.name) == ["token", "id"] && dead.evidence.isEmpty)
            #expect(try await projectOperator.deadEntry(dead.id)?.job == "j")
            guard case .pushed(let entry) = try await projectOperator.replay(dead.id) else {
                Issue.record("not pushed")
                return
            }
            let pushed = try bench.server.cli("XRANGE", keys.jobs, entry, entry)
            #expect(pushed.split(separator: "\n").dropFirst() == ["token", "a b", "id", "j"])
            #expect(try await projectOperator.deadEntries().isEmpty)
            #expect(try await projectOperator.replay(dead.id) == .missing)
            #expect(try await projectOperator.drop(dead.id) == .missing)
        }
    }

    @Test func parkedJobIsReplayedOrDropped() async throws {
        try await withBench { bench in
            let projectOperator = bench.projectOperator
            try await bench.park("one")
            try await bench.park("two")
            #expect(try await bench.state("one") == .parked)
            #expect(try await projectOperator.pause("one") == .parked)
            #expect(try await projectOperator.jobs(state: .parked).jobs.map(\.id).sorted() == ["one", "two"])
            let entries = try await projectOperator.deadEntries(kind: .parked)
            #expect(entries.map(\.job) == ["two", "one"])
            #expect(try await projectOperator.deadEntries(job: "one").map(\.job) == ["one"])
            #expect(try await projectOperator.deadEntries(kind: .rejected).isEmpty)
            #expect(try await projectOperator.progress(of: "one")?.heldBy?.hasPrefix("audience: ") == true)
            _ = try await bench.client.send(RedisCommand("RPOP", "list:{demo}:one"))
            #expect(try await projectOperator.replay(entries[1].id) == .resumed(job: "one"))
            #expect(try await bench.state("one") == .waiting)
            #expect(try await projectOperator.drop(entries[0].id) == .dropped(job: "two"))
            #expect(try await projectOperator.overview().parked == 0)
            #expect(try await projectOperator.deadEntries().isEmpty)
        }
    }

    @Test func deadEntriesAddedMeanwhileAreNotVisited() async throws {
        try await withBench { bench in
            for index in 0..<60 {
                _ = try bench.server.cli("XADD", keys.dead, "*", "job", "j\(index)", "kind", "rejected", "f.x", "1")
            }
            _ = try bench.server.cli("XADD", keys.dead, "*", "not", "ours")
            var jobs: [String] = []
            try await bench.projectOperator.eachDeadEntry { entry in
                jobs.append(entry.job)
                // As a replayed entry that is rejected once more would.
                _ = try bench.server.cli("XADD", keys.dead, "*", "job", "new", "kind", "rejected")
                return true
            }
            #expect(jobs == (0..<60).map { "j\($0)" })
            var newest: [String] = []
            try await bench.projectOperator.eachDeadEntry(newestFirst: true) { entry in
                newest.append(entry.job)
                return newest.count < 61
            }
            #expect(newest == Array(repeating: "new", count: 60) + ["j59"])
        }
    }

    @Test func projectsAreSorted() async throws {
        try await withBench { bench in
            _ = try bench.server.cli("SADD", "fanfare:projects", "b", "a")
            #expect(try await FanfareOperator.projects(redis: bench.client) == ["a", "b"])
        }
    }
}
