import TestSupport
import Testing

@testable import fanfare

/// Pushes to a project id that neither the configuration nor a worker knows.
@Suite struct KnownProjectTests {
    private let redis: RedisServer
    private let file: String
    private var link: [String] { ["--redis", "unix://\(redis.socketPath)"] }

    static let pushes = [
        ["send", "--token", "a", "--title", "x"], ["topic", "subscribe", "--topic", "t", "--token", "a"],
        ["topic", "ls", "--token", "a"], ["group", "get", "--name", "n"],
    ]

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

    @Test(arguments: pushes) func unknownProjectIsRefusedWithTheNearestOne(command: [String]) async throws {
        let run = try await CommandRun(command + ["--project", "demmo", "-c", file] + link)
        #expect(run.status == 64 && run.out.isEmpty)
        #expect(
            run.err == "fanfare: neither the configuration nor a worker knows project demmo; did you mean demo? "
                + "Nothing was pushed; --force pushes it anyway\n"
        )
        #expect(try keys("demmo").isEmpty && registered().isEmpty)
    }

    @Test func forcedPushWarnsAndMakesTheProjectNotKnown() async throws {
        for _ in 0..<2 {
            let forced = try await CommandRun(Self.pushes[0] + ["--project", "nosuch", "--force", "-c", file] + link)
            #expect(forced.status == 0)
            #expect(
                forced.err.hasPrefix("fanfare: warning: the configuration has no project nosuch, only demo, prod"),
                "\(forced.err)"
            )
            let refused = try await CommandRun(Self.pushes[0] + ["--project", "nosuch", "-c", file] + link)
            #expect(refused.status == 64, "\(refused.err)")
        }
        #expect(try redis.cli("XLEN", "fanfare:{nosuch}:jobs").hasPrefix("2"))
    }

    @Test func projectThatAWorkerServedIsKnown() async throws {
        try serve("shop")
        let known = try await CommandRun(Self.pushes[0] + ["--project", "shop", "-c", file] + link)
        #expect(known.status == 0 && !known.err.contains("the configuration has no project"), "\(known.err)")
        // Without a configuration only the workers say which projects exist.
        let wrong = try await CommandRun(Self.pushes[0] + ["--project", "shpo"] + link)
        #expect(wrong.status == 64 && wrong.err.contains("knows project shpo; did you mean shop?"), "\(wrong.err)")
        let far = try await CommandRun(Self.pushes[0] + ["--project", "unlike"] + link)
        #expect(far.status == 64 && far.err.contains("project unlike; known projects: shop."), "\(far.err)")
    }

    /// A producer may push before the first worker starts.
    @Test func redisThatNoWorkerUsedRefusesNoProject() async throws {
        let run = try await CommandRun(Self.pushes[0] + ["--project", "new"] + link)
        #expect(run.status == 0, "\(run.err)")
    }

    @Test func refusalNamesTenProjectsAtMost() throws {
        #expect(KnownProject.fault("x", known: []) == nil)
        let many = try #require(KnownProject.fault("unlike-any", known: (0..<12).map { "p\($0)" }))
        #expect(many.contains("known projects: p0, p1, p2, p3, p4, p5, p6, p7, p8, p9, …"), "\(many)")
    }
}
