import FanfareConfiguration
import FanfareJSON
import RedisTransport
import TestSupport
import Testing

@testable import fanfare

/// The state of Redis that the dashboard shows.
@Suite struct RedisReportTests {
    private func report(_ url: String) async throws -> JSONObject {
        let configuration = try Configuration.load(file: nil, environment: [:])
        return try await RedisReport.object(configuration, try RedisDeployment(url: url))
    }

    @Test func reportHasFactsAndTheDoctorsVerdicts() async throws {
        let redis = try RedisServer(config: ["--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"])
        let report = try await report("unix://\(redis.socketPath)")
        let server = try #require(report["servers"]?.array?.first?.object)
        #expect(server["maxmemory"]?.number?.int64 == 104_857_600 && server["role"]?.string == "master")
        #expect(server["maxmemory_policy"]?.string == "allkeys-lru")
        let checks = (report["checks"]?.array ?? []).compactMap(\.object)
        let policy = try #require(checks.first { $0["check"]?.string == "eviction policy" })
        #expect(policy["verdict"]?.string == "fail")
        #expect(policy["remedy"]?.string?.contains("maxmemory-policy noeviction") == true)
        #expect(checks.contains { $0["check"]?.string == "functions" && $0["text"]?.string == "not loaded" })
    }

    @Test func userWithoutTheRightToInfoGetsASentence() async throws {
        let redis = try RedisServer()
        _ = try redis.cli("ACL", "SETUSER", "small", "on", ">secret", "~*", "+ping", "+hello", "+client", "+select")
        let report = try await report("unix://small:secret@\(redis.socketPath)")
        #expect(report["refused"]?.string?.contains("info") == true && report["checks"] == nil)
    }
}
