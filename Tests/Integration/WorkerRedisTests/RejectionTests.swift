import FanfareConfiguration
import RedisTransport
import StreamWire
import TestSupport
import Testing

@testable import FanfareWorker

/// What a producer that pushes nothing but faulty jobs leaves in Redis and in the log.
@Suite struct RejectionTests {
    @Test func burstOfRejectionsGivesTwoLinesAndHashesOfADay() throws {
        let server = try RedisServer()
        defer { server.stop() }
        for number in 0..<50 {
            try server.cli("XADD", "fanfare:{p}:jobs", "*", "id", "bad-\(number)", "token", "t", "message", "no JSON")
        }
        let heard = HeardLog()
        try LinkBench.run(server, logger: heard.logger) { bench in
            bench.whenRegistered {
                bench.when(RedisCommand("XLEN", "fanfare:{p}:dead"), answers: 50) {
                    bench.when({ heard.messages.contains { $0.hasPrefix("More jobs were rejected") } }) {
                        bench.finish()
                    }
                }
            }
        }
        let lines = heard.messages.filter { $0.contains("rejected") }
        #expect(lines.first == "A job was rejected." && lines.count < 50, "\(lines)")
        let day = 86_400_000
        for number in [0, 49] {
            let life = Int(try server.cli("PTTL", "fanfare:{p}:job:bad-\(number)")) ?? 0
            #expect((1...day).contains(life), "\(life)")
        }
    }

    @Test func rejectedJobsHashLivesNoLongerThanOthers() throws {
        var settings = Configuration()
        func keepMs() throws -> Int64 {
            WorkerConfiguration(
                settings: settings,
                redis: try RedisDeployment(url: "redis://localhost"),
                projects: [],
                name: "w"
            ).keepRejectedMs
        }
        #expect(try keepMs() == 86_400_000)
        settings.retention.jobHours = 2
        #expect(try keepMs() == 7_200_000)
    }
}
