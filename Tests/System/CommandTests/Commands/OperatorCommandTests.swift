import FanfareClient
import FanfareJSON
import FanfareModel
import FanfareRedis
import RedisTransport
import StreamWire
import TestSupport
import Testing

@testable import fanfare

/// The operator's commands against a real redis-server with Fanfare's functions. The test does the intake of jobs.
@Suite struct OperatorCommandTests {
    private let redis: RedisServer
    private let keys = ProjectKeys(project: "demo")
    private var link: [String] { ["--redis", "unix://\(redis.socketPath)"] }
    private var flags: [String] { ["--project", "demo"] + link }

    init() throws { redis = try RedisServer() }

    private func lines(_ text: String) -> [String] { text.split(separator: "\n").map(String.init) }

    private func objects(_ text: String) throws -> [JSONObject] {
        try lines(text).map { try #require(try JSONParser.parse(Array($0.utf8), limits: JSONLimits()).object) }
    }

    private func withClient(_ body: (RedisClient) async throws -> Void) async throws {
        let client = try await RedisClient.connect(redis.endpoint)
        defer { client.close() }
        _ = try await client.send(FunctionLibrary.load())
        _ = try await client.send(JobStream.createGroup(keys))
        _ = try await client.send(FunctionLibrary.register(keys, worker: "w"))
        try await body(client)
    }

    private func intake(_ client: RedisClient, _ id: String, _ target: Target) async throws {
        let entry = try #require(try await client.send(RedisCommand("XADD", keys.jobs, "*", "x", "1")).string)
        let call = IntakeCall(
            job: Job(id: id, hasOwnID: true, entryID: entry, target: target, message: Array("{}".utf8)),
            dedupeMs: 3_600_000,
            keepMs: 3_600_000,
            taker: nil,
            window: 128,
            quotaPerMinute: 600_000,
            fanoutRate: 10_000
        )
        #expect(IntakeReply(try await client.send(call.command(keys))) == .queued)
    }

    private func claim(_ client: RedisClient) async throws {
        var call = ClaimCall(
            worker: "w",
            most: 1,
            wanted: 10_000,
            wantedSingle: 10_000,
            window: 128,
            retries: 1_000,
            quotaPerMinute: 600_000
        )
        call.permitsFanout = 10
        _ = try await client.send(call.command(keys))
    }

    /// Parks a fan-out: its list grows, and a claim finds that.
    private func park(_ client: RedisClient, _ id: String) async throws {
        var push = RedisCommand("RPUSH", "list:{demo}:\(id)")
        for index in 0..<1_200 { push.append("t\(index)") }
        _ = try await client.send(push)
        try await intake(client, id, .audience(key: "list:{demo}:\(id)"))
        _ = try await client.send(RedisCommand("RPUSH", "list:{demo}:\(id)", "one-more"))
        try await claim(client)
        #expect(try redis.cli("HGET", keys.job(id), "state") == "parked")
    }

    @Test func jobsOfAPausedProjectHaveNoEstimate() async throws {
        try await withClient { client in
            try await intake(client, "long", .tokens((0..<3_000).map { "t\($0)" }))
            try await claim(client)
            let now = try #require(JobInquiry.milliseconds(try await client.send(JobInquiry.time)))
            _ = try redis.cli("HSET", keys.job("long"), "sent", "500", "started_ms", "\(now - 5_000)")
            func left() async throws -> JSONValue? {
                try objects(try await CommandRun(["job", "ls", "--json"] + flags).out)[0]["left_seconds"]
            }
            #expect(try await left()?.number != nil)
            let paused = try await CommandRun(["project", "pause", "demo"] + link)
            #expect(paused.status == 0, "\(paused.err)")
            #expect(try await left()?.number == nil)
        }
    }

    @Test func missingFunctionsExitWith69AndNameTheRemedy() async throws {
        for line in [
            ["job", "cancel", "j"] + flags, ["project", "ls"] + link, ["dead", "replay", "1-0", "--yes"] + flags,
        ] {
            _ = try redis.cli("SADD", "fanfare:projects", "demo")
            _ = try redis.cli("XADD", keys.dead, "1-0", "job", "j", "kind", "rejected")
            let run = try await CommandRun(line)
            #expect(run.status == 69, "\(line)")
            #expect(run.err.contains("`fanfare functions load`"), "\(line)")
            _ = try redis.cli("DEL", keys.dead)
        }
    }

    @Test func replayInAProjectThatNothingKnowsIsRefused() async throws {
        try await withClient { _ in
            _ = try redis.cli("SADD", "fanfare:projects", "demo")
            let wrong = ProjectKeys(project: "dmo")
            _ = try redis.cli("XADD", wrong.dead, "1-0", "job", "j", "kind", "rejected", "f.token", "t")
            let line = ["dead", "replay", "1-0", "--yes", "--project", "dmo"] + link
            let refused = try await CommandRun(line)
            #expect(refused.status == 64 && refused.err.contains("did you mean demo?"), "\(refused.err)")
            #expect(try redis.cli("XLEN", wrong.jobs) == "0")
            let forced = try await CommandRun(line + ["--force"])
            #expect(forced.status == 0 && forced.out.contains("was pushed again"), "\(forced.out)\(forced.err)")
        }
    }

    @Test func jobCommandsPauseResumeAndCancel() async throws {
        try await withClient { client in
            try await intake(client, "j", .tokens(["a", "b"]))
            let paused = try await CommandRun(["job", "pause", "j"] + flags)
            #expect(paused.status == 0 && paused.out == "job j: paused\n")
            let shown = try await CommandRun(["job", "show", "j", "--json"] + flags)
            #expect(shown.out.contains(#""held_by":"paused by an operator""#))
            let resumed = try await CommandRun(["job", "resume", "j", "--json"] + flags)
            #expect(resumed.out == #"{"id":"j","project":"demo","outcome":"ok","state":"waiting"}"# + "\n")
            let cancelled = try await CommandRun(["job", "cancel", "j"] + flags)
            #expect(cancelled.status == 0 && cancelled.out.hasPrefix("job j: its unfinished recipients"))
            let late = try await CommandRun(["job", "pause", "j"] + flags)
            #expect(late.status == 1 && late.err.contains("ending already"))
            let missing = try await CommandRun(["job", "cancel", "nobody"] + flags)
            #expect(missing.status == 1 && missing.err.contains("job nobody: not there"))
        }
    }

    @Test func waitPrintsAPauseOnceAndContinues() async throws {
        try await withClient { client in
            try await intake(client, "j", .tokens(["a"]))
            _ = try await CommandRun(["job", "pause", "j"] + flags)
            let wait = JobWait(session: ProjectSession(client: client, project: "demo", prefix: "fanfare"), job: "j")
            var looks = 0
            var notes: [String] = []
            let end = try await wait.run(
                { _, _ in
                    looks += 1
                    // Seen paused twice, it ends.
                    if looks == 2 { _ = try? redis.cli("HSET", keys.job("j"), "state", "done", "sent", "1") }
                },
                onNotice: { notes.append($0) }
            )
            #expect(end.status.state == .done && end.status.isSuccess)
            #expect(notes == ["job j is paused: paused by an operator; still waiting"])
        }
    }

    @Test func waitForAParkedJobFailsWithTheRemedy() async throws {
        try await withClient { client in
            try await park(client, "j")
            let run = try await CommandRun(["job", "show", "j", "--wait"] + flags)
            #expect(run.status == 1)
            #expect(run.err.contains("`fanfare dead replay --project demo --job j`"))
            let resume = try await CommandRun(["job", "resume", "j"] + flags)
            #expect(resume.status == 1 && resume.err.contains("`fanfare dead replay --project demo --job j`"))
        }
    }

    @Test func jobListKeepsTheOrderOfTheQueue() async throws {
        try await withClient { client in
            try await intake(client, "wide", .tokens((0..<2_500).map { "t\($0)" }))
            try await claim(client)
            try await intake(client, "next", .tokens((0..<1_500).map { "t\($0)" }))
            try await intake(client, "small", .tokens(["a"]))
            let list = try await CommandRun(["job", "ls"] + flags)
            #expect(list.status == 0, "\(list.err)")
            #expect(lines(list.out).map { String($0.prefix { $0 != " " }) } == ["job", "wide", "next", "small"])
            let short = try await CommandRun(["job", "ls", "--json", "--limit", "1"] + flags)
            #expect(try objects(short.out).map { $0["id"]?.string } == ["wide"])
            #expect(short.err.contains("--limit shows more"))
            let shown = try await CommandRun(["job", "show", "next"] + flags)
            #expect(shown.out.contains("remaining  next of the waiting fan-outs"))
            let across = try await CommandRun(["job", "ls"] + link)
            #expect(across.status == 0 && across.out.isEmpty && across.err.contains("no matching jobs in any project"))
            _ = try redis.cli("SADD", "fanfare:projects", "demo", "other")
            let everywhere = try await CommandRun(["job", "ls"] + link)
            #expect(lines(everywhere.out).count == 4 && lines(everywhere.out)[1].contains("demo     wide   active"))
            let none = try await CommandRun(["job", "ls", "--state", "done"] + flags)
            #expect(none.status == 0 && none.out.isEmpty && none.err.contains("no matching jobs"))
        }
    }

    @Test func pushedJobsWithoutAWorkerAreNamed() async throws {
        func push(_ project: String) throws { _ = try redis.cli("XADD", "fanfare:{\(project)}:jobs", "*", "x", "1") }
        for _ in 0..<3 { try push("shop") }
        // No worker has ever loaded the functions.
        let list = try await CommandRun(["job", "ls", "--project", "shop"] + link)
        #expect(list.status == 0 && list.err.contains("3 pushed jobs, no worker serves project shop"), "\(list.err)")
        try await withClient { client in
            let again = try await CommandRun(["job", "ls", "--project", "shop"] + link)
            #expect(again.err.contains("3 pushed jobs, no worker serves project shop"))
            let show = try await CommandRun(["job", "show", "j", "--project", "shop"] + link)
            #expect(show.status == 1 && show.err.contains("no worker serves project shop"), "\(show.err)")
            // `demo` has a worker.
            try push("demo")
            let served = try await CommandRun(["job", "ls"] + flags)
            #expect(served.err.contains("1 pushed job, not yet taken, in project demo"), "\(served.err)")
        }
    }

    @Test func waitWithoutAWorkerSaysSoSoonAndOnce() async throws {
        let client = try await RedisClient.connect(redis.endpoint)
        defer { client.close() }
        let wait = JobWait(session: ProjectSession(client: client, project: "shop", prefix: "fanfare"), job: "j")
        var notices: [String] = []
        let end = try await wait.run(
            { _, _ in },
            onNotice: {
                notices.append($0)
                _ = try? redis.cli("HSET", "fanfare:{shop}:job:j", "state", "done", "total", "1", "sent", "1")
            }
        )
        #expect(end.status.state == .done)
        #expect(notices == ["no worker serves project shop: job j waits until one is started"])
    }

    @Test func projectCommandsPauseListAndResume() async throws {
        try await withClient { client in
            try await intake(client, "j", .tokens(["a"]))
            _ = try redis.cli("SADD", "fanfare:projects", "demo")
            let pause = try await CommandRun(["project", "pause", "demo", "--reason", "lunch"] + link)
            #expect(pause.status == 0 && pause.out == "project demo: paused\n", "\(pause.err)")
            let list = try await CommandRun(["project", "ls"] + link)
            #expect(list.out.contains("demo     paused ") && list.out.contains("  lunch\n"))
            let json = try objects(try await CommandRun(["project", "ls", "--json"] + link).out)
            #expect(json.first?["state"]?.string == "paused" && json.first?["jobs"]?.number?.int64 == 1)
            let resume = try await CommandRun(["project", "resume", "demo", "--json"] + link)
            #expect(resume.out == #"{"project":"demo","outcome":"resumed"}"# + "\n")
            let working = try await CommandRun(["project", "ls"] + link)
            #expect(working.out.contains("demo     working"))
            let unknown = try await CommandRun(["project", "pause", "dmeo"] + link)
            #expect(unknown.status == 1 && unknown.err.contains("known projects: demo"))
        }
    }

    @Test func deadCommandsListReplayAndDrop() async throws {
        try await withClient { client in
            try await park(client, "one")
            try await park(client, "two")
            _ = try redis.cli(
                "XADD",
                keys.dead,
                "*",
                "job",
                "bad",
                "reason",
                "token: x",
                "kind",
                "rejected",
                "f.token",
                "x"
            )
            let list = try await CommandRun(["dead", "ls"] + flags)
            #expect(lines(list.out).count == 4 && list.out.contains("audience: "))
            let json = try objects(try await CommandRun(["dead", "ls", "--kind", "rejected", "--json"] + flags).out)
            #expect(json.count == 1 && json[0]["job"]?.string == "bad")
            #expect(json[0]["fields"]?.object?["token"]?.string == "x")
            let entry = try #require(json[0]["entry"]?.string)

            let unasked = try await CommandRun(["dead", "drop", entry] + flags)
            #expect(unasked.status == 64 && unasked.err.contains("--yes"))
            let shown = try await CommandRun(["dead", "show", entry] + flags)
            #expect(shown.status == 0 && shown.out == #"{"token":"x"}"# + "\n" && shown.err.contains("token: x"))
            let absent = try await CommandRun(["dead", "show", "9-9"] + flags)
            #expect(absent.status == 1 && absent.err.contains("9-9: no such entry"))
            // Unchanged it breaks the same rule, so it is replayed only on request.
            let refused = try await CommandRun(["dead", "replay", entry, "--json"] + flags)
            #expect(refused.status == 1 && refused.err.contains("rejected (token: x) and would be again"))
            #expect(
                refused.err.contains("`fanfare dead show \(entry) --project demo`") && refused.err.contains("--yes")
            )
            #expect(try objects(refused.out).map { $0["outcome"]?.string } == ["refused"])
            let replayed = try await CommandRun(["dead", "replay", entry, "9-9", "--json", "--yes"] + flags)
            #expect(replayed.status == 1 && replayed.err.contains("9-9: no such entry"))
            #expect(try objects(replayed.out).map { $0["outcome"]?.string } == ["pushed"])

            _ = try redis.cli("RPOP", "list:{demo}:one")
            let resumed = try await CommandRun(["dead", "replay", "--job", "one"] + flags)
            #expect(resumed.status == 0 && resumed.out.contains("job one is resumed"), "\(resumed.err)")
            #expect(try redis.cli("HGET", keys.job("one"), "state") == "waiting")
            let again = try await CommandRun(["dead", "replay", "--job", "one"] + flags)
            #expect(again.status == 1 && again.err.contains("job one: it has no matching entry"))

            let dropped = try await CommandRun(["dead", "drop", "--all", "--yes"] + flags)
            #expect(dropped.status == 0 && dropped.out.contains("job two: its unfinished recipients are cancelled"))
            let nothing = try await CommandRun(["dead", "drop", "--all", "--yes"] + flags)
            #expect(nothing.status == 0 && nothing.err.contains("no matching entries"))
            #expect(try redis.cli("XLEN", keys.dead) == "0")
        }
    }
}
