import FanfareClient
import FanfareRedis
import RedisTransport
import StreamWire
import TestSupport
import Testing

@testable import fanfare

/// `fanfare project forget` against a real redis-server.
@Suite struct ProjectForgetTests {
    private let redis: RedisServer
    private let file: String
    private var link: [String] { ["--redis", "unix://\(redis.socketPath)"] }

    init() throws {
        redis = try RedisServer()
        file = try redis.folder.write("fanfare.yaml", "projects: { demo: {}, prod: {} }\n")
    }

    private func keys(_ project: String) throws -> [String] {
        try redis.cli("KEYS", "fanfare:{\(project)}:*").split(separator: "\n").map(String.init).filter { !$0.isEmpty }
    }

    private func registered() throws -> [String] {
        try redis.cli("SMEMBERS", "fanfare:projects").split(separator: "\n").map(String.init).filter { !$0.isEmpty }
    }

    /// As a worker at its start.
    private func serve(_ project: String) throws {
        _ = try redis.cli("XGROUP", "CREATE", "fanfare:{\(project)}:jobs", "fanfare", "0", "MKSTREAM")
        _ = try redis.cli("SADD", "fanfare:projects", project)
    }

    /// Pushes a job to a project that nothing knows.
    private func pushWrongly(_ project: String) async throws {
        let run = try await CommandRun(
            ["send", "--token", "a", "--title", "x"] + ["--project", project, "--force", "-c", file] + link
        )
        #expect(run.status == 0, "\(run.err)")
    }

    @Test func forgetRemovesWhatAWrongPushLeft() async throws {
        try await pushWrongly("shpo")
        _ = try redis.cli("HSET", "fanfare:{shpo}:job:j", "state", "rejected")
        _ = try redis.cli("SET", "fanfare:{shpo2}:jobs", "other")
        let line = ["project", "forget", "shpo", "-c", file] + link
        let unasked = try await CommandRun(line)
        #expect(unasked.status == 64 && unasked.err.contains("give --yes"), "\(unasked.err)")
        let run = try await CommandRun(line + ["--yes", "--reason", "typing error"])
        #expect(run.status == 0 && run.out == "project shpo: forgotten, 2 keys deleted\n", "\(run.err)")
        #expect(run.err == "project shpo: 1 pushed job not taken, 1 job hash, 0 dead entries, 2 keys in all\n")
        #expect(try keys("shpo") == ["fanfare:{shpo}:audit"] && registered().isEmpty)
        let audit = try redis.cli("XRANGE", "fanfare:{shpo}:audit", "-", "+")
        #expect(audit.contains("forget_project") && audit.contains("typing error"), "\(audit)")
        #expect(try keys("shpo2").count == 1)
        let list = try await CommandRun(["functions", "load"] + link)
        #expect(list.status == 0)
        #expect(!(try await CommandRun(["project", "ls", "-c", file] + link)).out.contains("shpo"))
        let again = try await CommandRun(line + ["--yes"])
        #expect(again.status == 1 && again.err == "fanfare: Redis holds nothing of project shpo\n")
    }

    @Test func forgetPrintsJSON() async throws {
        try await pushWrongly("shpo")
        let run = try await CommandRun(["project", "forget", "shpo", "--yes", "--json", "-c", file] + link)
        #expect(run.err.isEmpty)
        #expect(run.out == #"{"project":"shpo","outcome":"forgotten","pushed":1,"jobs":0,"dead":0,"keys":1}"# + "\n")
    }

    @Test func forgetOfAKnownProjectNeedsForce() async throws {
        try serve("shop")
        _ = try redis.cli("SADD", "fanfare:projects", "demo")
        for (project, reason) in [("demo", "is configured"), ("shop", "was served by a worker")] {
            let line = ["project", "forget", project, "--yes", "-c", file] + link
            let refused = try await CommandRun(line)
            #expect(
                refused.status == 1 && refused.err.contains("project \(project) \(reason); --force"),
                "\(refused.err)"
            )
            #expect(try registered().contains(project))
            #expect(try await CommandRun(line + ["--force"]).status == 0)
            #expect(try !registered().contains(project))
        }
    }

    @Test func forgetRefusesAProjectWithALiveWorker() async throws {
        let client = try await RedisClient.connect(redis.endpoint)
        defer { client.close() }
        _ = try await client.send(FunctionLibrary.load())
        try serve("shop")
        _ = try await client.send(FunctionLibrary.register(ProjectKeys(project: "shop"), worker: "w"))
        let run = try await CommandRun(["project", "forget", "shop", "--yes", "--force"] + link)
        #expect(run.status == 1 && run.err.contains("project shop is served by a live worker"), "\(run.err)")
        #expect(try registered() == ["shop"])
    }

    /// A prefix may hold what `SCAN` takes as a pattern.
    @Test func prefixIsNoPattern() async throws {
        let client = try await RedisClient.connect(redis.endpoint)
        defer { client.close() }
        for key in ["a*[b]?:{p}:jobs", "aXX[b]Y:{p}:jobs"] { _ = try redis.cli("SET", key, "1") }
        let project = FanfareOperator(redis: client, project: "p", prefix: "a*[b]?")
        #expect(try await project.remains().keys == 1)
        #expect(try await project.forget() == 1)
        #expect(try redis.cli("EXISTS", "aXX[b]Y:{p}:jobs").hasPrefix("1"))
    }
}
