import Foundation
import RedisTransport
import StreamWire
import TestSupport
import Testing

/// Managed services refuse commands that change or inspect the server. A worker and the operator's commands get by without.
@Suite struct RestrictedRedisTests {
    enum Service: String, CaseIterable, CustomTestStringConvertible {
        case elastiCache = "bgrewriteaof bgsave config debug migrate replicaof save slaveof shutdown sync"
        case memorystoreForRedis =
            "acl bgrewriteaof bgsave client cluster command config debug lastsave migrate monitor object shutdown replicaof save"

        var testDescription: String { self == .elastiCache ? "ElastiCache" : "Memorystore for Redis" }
        var refused: [String] { rawValue.split(separator: " ").map(String.init) }
    }

    @Test(arguments: Service.allCases)
    func fanOutRunsWithoutTheRefusedCommands(_ service: Service) async throws {
        let settings = service.refused.flatMap { ["--rename-command", $0, ""] }
        let redis = try RedisServer(config: settings + ["--maxmemory", "256mb", "--maxmemory-policy", "noeviction"])
        try await withRig(redis: redis) { rig in
            try await rig.startSandbox()
            let configuration = try rig.configuration()
            try await rig.startWorker(configuration)
            let tokens = (0..<2_500).map { "token-\($0)" }
            let list = rig.directory.appendingPathComponent("tokens")
            try tokens.joined(separator: "\n").write(to: list, atomically: true, encoding: .utf8)
            let send = try ChildProcess([
                "send", "--project", rig.project, "--tokens-file", list.path, "--title", "x", "--id", "all", "--wait",
                "-c", configuration,
            ])
            #expect(try await send.wait() == 0, "\(send.stderr)")
            #expect(try await rig.stats().accepted == tokens.count)
            for words in [
                ["job", "show", "all"], ["project", "ls"], ["top", "--once"], ["job", "results", "all"],
            ] {
                let command = try ChildProcess(words + ["-c", configuration])
                #expect(try await command.wait() == 0, "\(words): \(command.stderr)")
            }
            let doctor = try ChildProcess(["doctor", "-c", configuration])
            _ = try await doctor.wait()
            // The settings cannot be read, which is said; nothing is called a failure that is none.
            let output = doctor.stdout + doctor.stderr
            #expect(output.contains("CONFIG GET"), "\(output)")
            #expect(!output.contains("unknown command"), "\(output)")
        }
    }
}
