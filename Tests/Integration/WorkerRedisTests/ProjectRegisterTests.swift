import EventLoop
import FanfareConfiguration
import RedisTransport
import TestSupport
import Testing

@testable import FanfareWorker

@Suite struct ProjectRegisterTests {
    @Test func projectsThatRedisRefusesAreEnteredLater() throws {
        let server = try RedisServer()
        defer { server.stop() }
        // A full Redis refuses writes, and the connection stays.
        try server.cli("CONFIG", "SET", "maxmemory", "1")
        let heard = HeardLog()
        try runLoop { loop in
            let register = ProjectRegister(
                loop: loop,
                configuration: WorkerConfiguration(
                    settings: Configuration(),
                    redis: RedisDeployment(server.endpoint),
                    projects: [],
                    name: "w"
                ),
                projects: ["a", "b"],
                logger: heard.logger
            )
            register.start()
            when(loop, { refusals(server) >= 2 }) {
                _ = try? server.cli("CONFIG", "SET", "maxmemory", "0")
                when(loop, { heard.messages.count > 1 }) {
                    register.close()
                    loop.stop()
                }
            }
        }
        #expect(try server.cli("SMEMBERS", "fanfare:projects").split(separator: "\n").sorted() == ["a", "b"])
        #expect(
            heard.messages == [
                "The projects cannot be entered in the register yet; it is tried until they are.",
                "The projects are entered in the register.",
            ]
        )
    }

    private func refusals(_ server: RedisServer) -> Int {
        let stats = (try? server.cli("INFO", "commandstats")) ?? ""
        guard let line = stats.split(whereSeparator: \.isNewline).first(where: { $0.hasPrefix("cmdstat_sadd:") }),
            let part = line.split(separator: ",").first(where: { $0.hasPrefix("rejected_calls=") })
        else { return 0 }
        return Int(part.dropFirst("rejected_calls=".count)) ?? 0
    }
}
