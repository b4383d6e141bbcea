import Foundation
import TestSupport
import Testing

@testable import fanfare

/// `fanfare token show` against a real redis-server without a worker.
@Suite struct TokenCommandTests {
    private let redis: RedisServer
    private var flags: [String] { ["--redis", "unix://\(redis.socketPath)"] }
    private static let token = "device-0123456789"

    init() throws {
        redis = try RedisServer()
        _ = try redis.cli("SADD", "fanfare:projects", "demo", "shop")
        for (project, status) in [("demo", "sent"), ("shop", "failed")] {
            let result = #"[{"i":0,"token":"\#(Self.token)","status":"\#(status)","attempts":1}]"#
            _ = try redis.cli("XADD", "fanfare:{\(project)}:results", "*", "job", "j-\(project)", "results", result)
        }
        _ = try redis.cli(
            "XADD",
            "fanfare:{shop}:feedback",
            "*",
            "token",
            Self.token,
            "action",
            "replace",
            "replacement",
            "canon-0123456789",
            "error",
            "",
            "job",
            "j-shop"
        )
    }

    @Test func manyProjectsWithoutTheTokenAreOneLine() async throws {
        _ = try redis.cli(["SADD", "fanfare:projects"] + (1...39).map { "other-\($0)" })
        let run = try await CommandRun(["token", "show", Self.token] + flags)
        #expect(run.err.hasPrefix("nothing found in 39 other projects; none keeps results\nnote: "), "\(run.err)")
        #expect(run.err.contains("results=all") && run.err.contains("job results ID --failed"), "\(run.err)")
        let nowhere = try await CommandRun(["token", "show", "another-token-1"] + flags)
        #expect(nowhere.err.hasPrefix("nothing found in 41 projects; 39 keep no results\n"), "\(nowhere.err)")
    }

    @Test func tokenIsFoundInAllProjectsAndMasked() async throws {
        let run = try await CommandRun(["token", "show", Self.token] + flags)
        #expect(run.status == 0, "\(run.err)")
        for text in [
            "j-demo", "sent", "j-shop", "failed", "replace by canon-…[16 characters]", "device…[17 characters]",
        ] {
            #expect(run.out.contains(text), "\(text) in \(run.out)")
        }
        #expect(!(run.out + run.err).contains(Self.token))
        #expect(run.err.contains("results=all"))
        let one = try await CommandRun(
            ["token", "show", "-", "--project", "demo", "--unmasked"] + flags,
            input: Self.token
        )
        #expect(one.status == 0 && one.out.contains("\(Self.token) in project demo") && !one.out.contains("j-shop"))
    }

    @Test func jsonIsOneObject() async throws {
        let run = try await CommandRun(["token", "show", Self.token, "--json"] + flags)
        let object = try #require(
            try JSONSerialization.jsonObject(with: Data(run.out.utf8)) as? [String: Any],
            "\(run.err)"
        )
        let projects = try #require(object["projects"] as? [[String: Any]])
        #expect(projects.compactMap { $0["project"] as? String } == ["demo", "shop"])
        #expect(projects.allSatisfy { $0["whole"] as? Bool == true })
        #expect(!run.out.contains(Self.token) && !run.out.contains("canon-0123456789"))
    }

    @Test func unknownTokenExitsWithOneAndSaysWhereItLooked() async throws {
        let run = try await CommandRun(["token", "show", "nobody"] + flags)
        #expect(run.status == 1 && run.out == "Nothing is kept about nobody…[6 characters].\n")
        #expect(run.err.contains("project demo: nothing found; results are kept since "))
        let empty = try await CommandRun(["token", "show", "nobody", "--project", "other"] + flags)
        #expect(empty.status == 1 && empty.err.contains("project other: nothing found; no results are kept"))
    }

    @Test func incompleteSearchPrintsHowToGoOn() async throws {
        let result = #"[{"i":0,"token":"\#(Self.token)","status":"sent","attempts":1}]"#
        for job in ["a", "b"] {
            _ = try redis.cli("XADD", "fanfare:{demo}:results", "*", "job", job, "results", result)
        }
        let command = ["token", "show", Self.token, "--project", "demo", "--limit", "1"] + flags
        let first = try await CommandRun(command)
        #expect(first.out.contains(" b ") && !first.out.contains(" a "))
        let cursor = try #require(first.err.firstMatch(of: /--from (\S+)/)).1
        let second = try await CommandRun(command + ["--from", String(cursor)])
        #expect(second.out.contains(" a ") && !second.out.contains(" b "))
    }

    @Test(arguments: ["a b", "a/b", String(repeating: "x", count: 1_025), ""])
    func badTokenIsAUsageError(token: String) async throws {
        let run = try await CommandRun(["token", "show", token] + flags)
        #expect(run.status == 64 && run.err.contains("1 to 1024 of A-Z a-z 0-9 _ : . -"), "\(run.err)")
        let input = try await CommandRun(["token", "show", "-"] + flags, input: "a b\n")
        #expect(input.status == 64 && input.err.contains("standard input"))
        let cursor = try await CommandRun(["token", "show", "a", "--project", "demo", "--from", "zz"] + flags)
        #expect(cursor.status == 64 && cursor.err.contains("begin again without a cursor"))
    }

    @Test func unreachableRedisExitsWith69() async throws {
        let run = try await CommandRun(["token", "show", "a", "--redis", "unix:///nowhere/redis.sock"])
        #expect(run.status == 69, "\(run.err)")
    }
}
