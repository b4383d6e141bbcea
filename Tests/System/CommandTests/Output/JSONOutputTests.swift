import FanfareJSON
import Foundation
import TestSupport
import Testing

@testable import fanfare

/// `--json`: standard output holds only JSON, one value per line; errors go to standard error.
@Suite struct JSONOutputTests {
    private func values(_ text: String) throws -> [JSONValue] {
        try text.split(separator: "\n").map { try JSONParser.parse(Array($0.utf8), limits: JSONLimits()) }
    }

    @Test func jsonFlagPrintsOnlyJSON() async throws {
        let redis = try RedisServer()
        let link = ["--redis", "unix://\(redis.socketPath)"]
        let project = ["--project", "demo"]
        let lines: [[String]] = [
            ["functions", "load", "--json"] + link,
            ["send", "--token", "t", "--title", "x", "--json"] + project + link,
            ["topic", "subscribe", "--topic", "t", "--token", "a", "--json"] + project + link,
            ["group", "create", "--name", "n", "--token", "a", "--json"] + project + link,
            ["job", "ls", "--json"] + project + link, ["project", "ls", "--json"] + link,
            ["project", "pause", "demo", "--json"] + link, ["project", "resume", "demo", "--json"] + link,
            ["dead", "ls", "--json"] + project + link, ["doctor", "--json"] + link,
        ]
        for line in lines {
            let run = try await CommandRun(line)
            #expect(run.status == 0 || line[0] == "doctor", "\(line): \(run.err)")
            let values = try #require(try? values(run.out), "\(line): \(run.out)")
            #expect(!values.isEmpty || line[1] == "ls", "\(line)")
            #expect(values.allSatisfy { $0.object != nil }, "\(line): \(run.out)")
        }
    }

    @Test func errorsStayOffStandardOutput() async throws {
        let redis = try RedisServer()
        _ = try redis.cli("SADD", "fanfare:projects", "demo")
        let good = ["--redis", "unix://\(redis.socketPath)"]
        let gone = ["--redis", "unix:///nowhere.sock"]
        let project = ["--project", "demo"]
        let lines: [(line: [String], status: Int32)] = [
            (["job", "show", "j", "--json"] + project + good, 1), (["job", "ls", "--json"] + project + gone, 69),
            (["project", "ls", "--json"] + gone, 69), (["dead", "replay", "1-0", "--json"] + project + good, 1),
            (["functions", "load", "--json"] + gone, 69), (["dead", "ls", "--json"] + good, 64),
            (["send", "--json", "--token", "t"] + project + good, 64),
            (["job", "ls", "--json", "-c", "/nowhere.yaml"] + project, 78),
        ]
        for (line, status) in lines {
            let run = try await CommandRun(line)
            #expect(run.status == status, "\(line): \(run.err)")
            #expect(run.out.isEmpty && !run.err.isEmpty, "\(line): \(run.out)")
        }
    }

    @Test func configCheckPrintsDestinationsAsJSON() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        _ = try folder.write("key", "server-key")
        let file = try folder.write(
            "fanfare.yaml",
            "projects: { demo: { transport: legacy, server_key_file: key, endpoint: https://localhost:1 } }\n"
        )
        let run = try await CommandRun(["config", "check", "--json", "-c", file])
        let object = try #require(try values(run.out).first?.object)
        #expect(run.status == 0 && object["ok"]?.bool == true)
        let project = try #require(object["projects"]?.array?.first?.object)
        #expect(project["id"]?.string == "demo" && project["transport"]?.string == "legacy")
        #expect(project["destination"]?.string == "https://localhost:1")
    }

    @Test func foreignTextIsEscapedForTerminals() async throws {
        let redis = try RedisServer()
        let flags = ["--project", "demo", "--redis", "unix://\(redis.socketPath)"]
        let evil = "\u{1B}]0;x\u{7} \u{9B}2J \u{202E}gnp.exe\u{2028}ok"
        _ = try redis.cli("HSET", "fanfare:{demo}:job:j", "state", "rejected", "total", "0", "reason", evil)
        for options in [[], ["--json"]] {
            let run = try await CommandRun(["job", "show", "j"] + flags + options)
            let unsafe = run.out.unicodeScalars.filter { PrintableText.isUnsafe($0) && $0 != "\n" }
            #expect(unsafe.isEmpty && run.out.contains("gnp.exe"), "\(run.out)")
            if !options.isEmpty { #expect(try values(run.out)[0].object?["reason"]?.string == evil) }
        }
    }
}
