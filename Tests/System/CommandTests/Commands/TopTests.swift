import FanfareJSON
import Foundation
import RedisTransport
import StreamWire
import TestSupport
import Testing

@testable import FanfareClient
@testable import fanfare

@Suite struct TopTests {
    private func bulk(_ words: [String]) -> [RedisValue] { words.map { .bulk(Array($0.utf8)) } }

    private func job(_ id: String, _ state: String, _ sent: Int) -> RedisValue {
        let fields = bulk(["state", state, "total", "100", "sent", "\(sent)", "created_ms", "1"])
        return .array(bulk(["id", id, "job"]) + [.array(fields)] + bulk(["class", "fanout", "priority", "5"]))
    }

    private func snapshot(jobs: Int) throws -> FleetSnapshot {
        var words = bulk(["now_ms", "1700000000000", "left", "4000", "open", "3"])
        let about = #"{"version":"1.2.3","host":"h","pid":7,"started_ms":1,"lease_ms":10000,"in_flight":5}"#
        let worker = bulk(["name", "w\u{1B}[2J.a.1", "silent_ms", "20000", "about", about, "batches", "2"])
        words += bulk(["leases"]) + [.array([.array(worker)])]
        words += bulk(["queued"]) + [.array((0..<jobs).map { job("job-\($0)", "waiting", 10) })]
        words += bulk(["needing"]) + [.array([job("stuck", "parked", 50)])]
        return FleetSnapshot(projects: [try #require(ProjectSnapshot(id: "demo", reply: .array(words)))])
    }

    @Test(arguments: [(80, 24), (40, 10), (200, 60), (20, 4), (1, 1)])
    func screenFitsItsWindow(columns: Int, rows: Int) throws {
        let screen = TopScreen(snapshot: try snapshot(jobs: 40), meter: FleetMeter())
        let lines = screen.lines(width: columns, height: rows)
        #expect(lines.allSatisfy { $0.text.count <= columns } && lines.count <= max(2, rows))
        if rows >= 24 {
            #expect(lines.contains { $0.text.hasPrefix("  … and ") && $0.text.hasSuffix(" more") })
            #expect(lines.contains { $0.text.hasPrefix("WORKER") })
        }
    }

    @Test func screenWithoutHeightShowsEverything() throws {
        let screen = TopScreen(snapshot: try snapshot(jobs: 40), meter: FleetMeter(), trouble: "Redis is away")
        let lines = screen.lines(width: 200, height: nil)
        let text = lines.map(\.text).joined(separator: "\n")
        for word in ["job-0 ", "job-39", "[########........]", "1.2.3", "silent", "demo", "accepted by FCM"] {
            #expect(text.contains(word), "\(word)")
        }
        // A terminal must not obey what a worker is called.
        #expect(!text.contains("\u{1B}"))
        #expect(lines.first { $0.text.contains("stuck") }?.style == .warning)
        #expect(lines.first { $0.text.contains("Redis is away") }?.style == .warning)
        #expect(TerminalScreen.styled(lines[0]).hasSuffix("\u{1B}[0m"))
    }

    private func withRedis(_ body: ([String]) async throws -> Void) async throws {
        let redis = try RedisServer()
        let client = try await RedisClient.connect(redis.endpoint)
        defer {
            client.close()
            redis.stop()
        }
        _ = try await client.send(FunctionLibrary.load())
        _ = try await client.send(RedisCommand("SADD", ProjectKeys.projects(), "demo"))
        try await body(["top", "--redis", "unix://\(redis.socketPath)"])
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

    @Test func topRestoresTheTerminal() async throws {
        try await withRedis { line in
            let command = ([CommandRun.executable.path] + line).map { "'\($0)'" }.joined(separator: " ")
            let folder = try TemporaryFolder()
            defer { folder.remove() }
            let screen = folder.file("screen")
            // `script` gives it a terminal; the key is pressed before it looks, and waits for it.
            let shell = "stty rows 20 cols 70; \(command); code=$?; stty -a; exit $code"
            _ = try runProgram("/usr/bin/script", ["-q", "-e", "-c", shell, screen], input: Array("q".utf8))
            let text = try String(contentsOfFile: screen, encoding: .utf8)
            // On a busy machine the key may come before the first screen.
            #expect(text.contains("\u{1B}[?1049h"))
            let after = try #require(text.range(of: "\u{1B}[?1049l", options: .backwards))
            #expect(text[after.upperBound...].contains(" icanon") && text[after.upperBound...].contains(" echo "))
        }
    }

    @Test func topWithoutRedisExitsWith69() async throws {
        let run = try await CommandRun(["top", "--once", "--redis", "unix:///nowhere/redis.sock"])
        #expect(run.status == 69 && run.out.isEmpty && run.err.contains("Redis at"))
    }
}
