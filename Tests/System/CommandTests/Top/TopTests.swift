import FanfareJSON
import FanfareRedis
import Foundation
import RedisTransport
import StreamWire
import TestSupport
import Testing

@testable import FanfareClient
@testable import fanfare

@Suite struct TopTests {
    private func withRedis(_ body: ([String]) async throws -> Void) async throws {
        try await withRedis { line, _ in try await body(line) }
    }

    private func withRedis(_ body: ([String], RedisServer) async throws -> Void) async throws {
        let redis = try RedisServer()
        let client = try await RedisClient.connect(redis.endpoint)
        defer {
            client.close()
            redis.stop()
        }
        _ = try await client.send(FunctionLibrary.load())
        _ = try await client.send(RedisCommand("SADD", ProjectKeys.projects(), "demo"))
        try await body(["top", "--redis", "unix://\(redis.socketPath)"], redis)
    }

    @Test func topWithoutATerminalPrintsOnce() async throws {
        try await withRedis { line in
            for flags in [[], ["--once"]] {
                let run = try await CommandRun(line + flags)
                #expect(run.status == 0, "\(run.err)")
                #expect(run.out.contains("PROJECT") && run.out.contains("demo") && !run.out.contains("\u{1B}"))
            }
            let run = try await CommandRun(line + ["--once", "--json"])
            let object = try #require(try JSONParser.parse(Array(run.out.utf8), limits: JSONLimits()).object)
            #expect(object["projects"]?.array?.first?.object?["id"] == "demo" && object["workers"]?.array == [])
            #expect(run.out.split(separator: "\n").count == 1)
        }
    }

    /// Runs `fanfare top` on a terminal of 80 × 24, which `script` gives it, and returns what it drew.
    /// - Parameters:
    ///   - keys: pressed before it looks, and wait for it.
    ///   - meanwhile: shell commands that run beside it. `$SCREEN` holds what it drew, `$PID` is its process.
    ///   - noColor: the value of `NO_COLOR`.
    private func draw(
        _ line: [String],
        keys: String = "",
        meanwhile: String = ":",
        noColor: String = ""
    ) throws -> String {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let screen = folder.file("screen")
        let command = ([CommandRun.executable.path] + line).map { "'\($0)'" }.joined(separator: " ")
        let shell = """
            export FANFARE_CONFIG=/dev/null NO_COLOR=\(noColor); stty rows 24 cols 80
            sh -c 'PID=$$; SCREEN=\(screen); export PID SCREEN; (\(meanwhile)) & exec "$@"' sh \(command)
            echo "status=$?"; stty -a
            """
        _ = try runProgram("/usr/bin/script", ["-q", "-f", "-c", shell, screen], input: Array(keys.utf8))
        return try String(contentsOfFile: screen, encoding: .utf8)
    }

    private func expectRestored(_ text: String) throws {
        #expect(text.contains("\u{1B}[?1049h"))
        let after = try #require(text.range(of: "\u{1B}[?1049l", options: .backwards))
        let rest = text[after.upperBound...]
        #expect(rest.contains("status=0") && rest.contains(" icanon") && rest.contains(" echo "), "\(rest)")
    }

    @Test func quitKeyRestoresTheTerminal() async throws {
        try await withRedis { line in try expectRestored(try draw(line, keys: "q")) }
    }

    @Test(arguments: ["TERM", "INT"])
    func signalRestoresTheTerminal(signal: String) async throws {
        try await withRedis { line in
            let kill = #"until grep -q PROJECT "$SCREEN"; do sleep 0.1; done; kill -\#(signal) $PID"#
            try expectRestored(try draw(line, meanwhile: kill))
        }
    }

    @Test func warningsHaveNoColorIfNoColorIsSetAndNotEmpty() async throws {
        try await withRedis { line, redis in
            // A paused project is shown as a warning.
            _ = try redis.cli("HSET", ProjectKeys(project: "demo").base + "ctl", "pause", "lunch")
            #expect(try draw(line, keys: "q").contains("\u{1B}[33m"))
            let plain = try draw(line, keys: "q", noColor: "1")
            #expect(!plain.contains("\u{1B}[3") && plain.contains("demo"), "\(plain)")
            try expectRestored(plain)
        }
    }

    @Test func resizedTerminalIsDrawnAgain() async throws {
        try await withRedis { line in
            let resize = #"""
                until grep -q PROJECT "$SCREEN"; do sleep 0.1; done; stty rows 10 cols 40 </dev/tty;
                until grep -q "p pause  ? help" "$SCREEN"; do sleep 0.1; done; kill -TERM $PID
                """#
            try expectRestored(try draw(line, meanwhile: resize))
        }
    }

    @Test func keysPauseAProjectWithAReason() async throws {
        let control = ProjectKeys(project: "demo").base + "ctl"
        try await withRedis { line, redis in
            let refused = try draw(line + ["--read-only"], keys: "pylunch\rq")
            #expect(!refused.contains("Pause project demo?"))
            #expect(try redis.cli("HEXISTS", control, "pause") == "0")
            _ = try draw(line, keys: "pnpy\u{1B}q")
            #expect(try redis.cli("HEXISTS", control, "pause") == "0")
            try expectRestored(try draw(line, keys: "pylunch\rq"))
            #expect(try redis.cli("HGET", control, "pause") == "lunch")
            _ = try draw(line, keys: "ry\rq")
            #expect(try redis.cli("HEXISTS", control, "pause") == "0")
        }
    }

    @Test func outageOfRedisIsShownUntilItAnswers() async throws {
        try await withRedis { line, redis in
            let meanwhile = """
                until grep -q PROJECT "$SCREEN"; do sleep 0.1; done; kill -STOP \(redis.pid);
                until grep -q "does not answer since" "$SCREEN"; do sleep 0.1; done; kill -CONT \(redis.pid);
                while tail -c 1500 "$SCREEN" | grep -q "does not answer"; do sleep 0.1; done; kill -TERM $PID
                """
            let text = try draw(line, meanwhile: meanwhile)
            let last = try #require(text.components(separatedBy: "\u{1B}[H").last)
            #expect(last.contains("demo") && !last.contains("does not answer"))
        }
    }

    @Test func topWithoutRedisExitsWith69() async throws {
        let run = try await CommandRun(["top", "--once", "--redis", "unix:///nowhere/redis.sock"])
        #expect(run.status == 69 && run.out.isEmpty && run.err.contains("Redis at"))
    }
}
