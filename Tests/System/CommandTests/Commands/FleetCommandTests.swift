import FanfareClient
import FanfareJSON
import FanfareModel
import Foundation
import RedisTransport
import StreamWire
import TestSupport
import Testing

@testable import fanfare

/// Commands on jobs of several projects, against a real redis-server with Fanfare's functions.
@Suite struct FleetCommandTests {
    private let redis: RedisServer
    private var link: [String] { ["--redis", "unix://\(redis.socketPath)"] }

    init() throws { redis = try RedisServer() }

    private func intake(_ client: RedisClient, _ project: String, _ id: String, notBefore: Int64 = 0) async throws {
        let keys = ProjectKeys(project: project)
        let entry = try #require(try await client.send(RedisCommand("XADD", keys.jobs, "*", "x", "1")).string)
        var job = Job(
            id: id,
            hasOwnID: true,
            entryID: entry,
            target: .tokens(["a", "b"]),
            message: Array("{}".utf8)
        )
        job.notBefore = notBefore
        let call = IntakeCall(
            job: job,
            dedupeMs: 3_600_000,
            keepMs: 3_600_000,
            taker: nil,
            window: 128,
            quotaPerMinute: 600_000,
            fanoutRate: 10_000
        )
        _ = try await client.send(call.command(keys))
    }

    /// Jobs `one` and `shared` of project `a`; `two`, `shared` and `later`, which is scheduled, of project `b`.
    private func withFleet(_ body: () async throws -> Void) async throws {
        let client = try await RedisClient.connect(redis.endpoint)
        defer { client.close() }
        _ = try await client.send(FunctionLibrary.load())
        for project in ["a", "b"] {
            let keys = ProjectKeys(project: project)
            _ = try redis.cli("SADD", ProjectKeys.projects(), project)
            _ = try await client.send(JobStream.createGroup(keys))
            _ = try await client.send(FunctionLibrary.register(keys, worker: "w"))
            try await intake(client, project, project == "a" ? "one" : "two")
            try await intake(client, project, "shared")
        }
        try await intake(client, "b", "later", notBefore: 9_000_000_000_000)
        try await body()
    }

    private func state(_ project: String, _ id: String) throws -> String {
        try redis.cli("HGET", ProjectKeys(project: project).job(id), "state")
    }

    private func run(_ words: String...) async throws -> CommandRun { try await CommandRun(words + link) }

    /// As with `| true`: the reader of the output is gone before the first line.
    @Test(arguments: [["job", "pause", "one", "two", "later"], ["pause", "--all", "--yes", "--scheduled", "--json"]])
    func changeOfSeveralJobsOutlivesItsReader(command: [String]) async throws {
        try await withFleet {
            let process = CommandRun.process([])
            process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
            // A test process may ignore the signal, which a child inherits.
            process.arguments = ["--default-signal=PIPE", CommandRun.executable.path] + command + link
            let pipe = makePipe()
            process.standardOutput = pipe
            try pipe.fileHandleForReading.close()
            try startProcess(process)
            process.waitUntilExit()
            #expect(process.terminationReason == .exit && process.terminationStatus == 0)
            #expect(
                try state("a", "one") == "paused" && state("b", "two") == "paused" && state("b", "later") == "paused"
            )
        }
    }

    @Test func pauseOfAProjectThatDoesNotExistIsRefused() async throws {
        try await withFleet {
            let wrong = try await run("pause", "--all", "--project", "aa", "--yes")
            #expect(
                wrong.status == 64 && wrong.err.contains("there is no project aa; known projects: a, b"),
                "\(wrong.err)"
            )
        }
    }

    @Test func pauseOfAllListsPausesAndIsResumed() async throws {
        try await withFleet {
            let keys = ProjectKeys(project: "a")
            _ = try await run("job", "pause", "one", "--reason", "mine")
            _ = try redis.cli("XADD", keys.jobs, "*", "token", "t")
            let dry = try await run("pause", "--all", "--dry-run")
            #expect(dry.status == 0 && dry.out.split(separator: "\n").count == 4, "\(dry.out)")
            #expect(dry.out.hasPrefix("project") && !dry.out.contains("later") && !dry.out.contains("one"))
            #expect(dry.err.contains("`fanfare project pause a` holds them, too"), "\(dry.err)")
            #expect(try state("b", "two") == "waiting")
            let paused = try await run("pause", "--all", "--yes", "--reason", "wrong prices")
            #expect(paused.status == 0 && paused.out.hasSuffix("3 jobs paused\n"), "\(paused.out)\(paused.err)")
            #expect(try state("a", "shared") == "paused")
            #expect(try state("b", "two") == "paused")
            #expect(try state("b", "later") == "scheduled")
            let reason = try redis.cli("HGET", ProjectKeys(project: "b").job("two"), "reason")
            #expect(reason == "paused by an operator: pause --all: wrong prices")
            let resumed = try await run("resume", "--all", "--yes", "--json")
            #expect(resumed.status == 0 && resumed.out.split(separator: "\n").count == 3, "\(resumed.out)")
            #expect(try state("b", "two") == "waiting")
            #expect(try state("a", "one") == "paused")
        }
    }

    /// A canary with a wait continues by itself; one without waits for an operator.
    @Test func pauseOfAllHoldsTheCanariesThatContinueByThemselves() async throws {
        try await withFleet {
            for (project, id, wait) in [("a", "one", "60000"), ("b", "two", "")] {
                let fields = ["state", "paused", "reason", "canary", "canary", "1"]
                _ = try redis.cli(["HSET", ProjectKeys(project: project).job(id)] + fields)
                if !wait.isEmpty {
                    _ = try redis.cli("HSET", ProjectKeys(project: project).job(id), "canary_wait_ms", wait)
                }
            }
            let dry = try await run("pause", "--all", "--dry-run", "--json")
            #expect(dry.out.contains(#""one""#) && !dry.out.contains(#""two""#), "\(dry.out)\(dry.err)")
        }
    }

    @Test func resumeOfAllKnowsItsJobsByTheStoredScope() async throws {
        try await withFleet {
            // The reason alone does not say it, unless an earlier version paused the job.
            _ = try await run("job", "pause", "one", "--reason", "pause --all")
            _ = try await run("pause", "--all", "--yes", "--project", "b")
            let old = ProjectKeys(project: "b")
            _ = try redis.cli("HSET", old.base + "spec:two", "paused", "1")
            let resumed = try await run("resume", "--all", "--yes")
            #expect(resumed.status == 0 && resumed.out.hasSuffix("2 jobs resumed\n"), "\(resumed.out)\(resumed.err)")
            #expect(try state("a", "one") == "paused")
            #expect(try state("b", "two") == "waiting")
        }
    }

    @Test func pauseOfAllOfOneProjectLeavesTheOthers() async throws {
        try await withFleet {
            let paused = try await run("pause", "--all", "--yes", "--project", "b", "--scheduled")
            #expect(paused.out.hasSuffix("3 jobs paused\n"), "\(paused.out)")
            #expect(try state("b", "later") == "paused")
            #expect(try state("a", "one") == "waiting")
            let none = try await run("resume", "--all", "--yes", "--project", "a")
            #expect(none.status == 0 && none.err == "no matching jobs in project a\n")
        }
    }

    @Test func jobCommandsFindTheProjectOfAnId() async throws {
        try await withFleet {
            let paused = try await run("job", "pause", "one", "two")
            #expect(paused.status == 0 && paused.out == "job one: paused\njob two: paused\n", "\(paused.err)")
            #expect(try state("a", "one") == "paused")
            #expect(try state("b", "two") == "paused")
            let shown = try await run("job", "show", "two", "--json")
            #expect(shown.out.contains(#""project":"b""#))
            let unclear = try await run("job", "cancel", "shared")
            #expect(unclear.status == 64 && unclear.err.contains("a, b have a job with this id"), "\(unclear.err)")
            #expect(try state("a", "shared") == "waiting")
            // Nothing is changed while the project of one id is not clear.
            let half = try await run("job", "cancel", "shared", "one")
            #expect(half.status == 64 && half.out.isEmpty, "\(half.out)")
            #expect(half.err.contains("a, b have a job with this id") && half.err.contains("no job was cancelled"))
            #expect(try state("a", "one") == "paused")
            let named = try await run("job", "cancel", "shared", "--project", "b")
            #expect(named.status == 0 && named.out.hasPrefix("job shared: its unfinished"))
            // One that is missing does not stop the others.
            let some = try await run("job", "resume", "gone", "one")
            #expect(some.status == 1 && some.out == "job one: resumed; it is waiting\n", "\(some.out)")
            #expect(some.err.contains("job gone: not there; no project has it"), "\(some.err)")
        }
    }

    @Test func jobsOfAllProjectsAreSortedAndMatched() async throws {
        try await withFleet {
            _ = try redis.cli("HSET", ProjectKeys(project: "b").job("two"), "failed", "2")
            let sorted = try await run("job", "ls", "--all-projects", "--sort", "failed", "--json")
            let first = try #require(sorted.out.split(separator: "\n").first)
            #expect(first.contains(#""id":"two""#), "\(sorted.out)")
            let matched = try await run("job", "ls", "--match", "SHAR")
            let lines = matched.out.split(separator: "\n")
            #expect(lines.count == 3 && lines[0].hasPrefix("project  job"), "\(matched.out)")
            #expect(lines[1].hasPrefix("a        shared") && lines[2].hasPrefix("b        shared"))
        }
    }
}
