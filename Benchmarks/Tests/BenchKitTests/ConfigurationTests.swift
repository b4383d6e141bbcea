import Foundation
import Testing

@testable import BenchKit

/// What the processes of a run are told.
struct ConfigurationTests {
    private let target = Target(origin: "https://localhost:1", authority: "/ca", credentials: "/c", serverKey: "/k")

    @Test func theWorkersOwnDefaultsAreKept() {
        let text = WorkerSettings().text(redisURL: "unix:///r", target: target)
        #expect(!text.contains("worker:") && !text.contains("active_fanouts") && !text.contains("http_engine"))
        #expect(text.contains("  demo:\n    quota_per_minute: 1000000000\n    transport: v1\n    credentials: /c\n"))
    }

    @Test func eachOfSeveralProjectsHasItsBlock() {
        var settings = WorkerSettings()
        settings.projects = 3
        #expect(settings.projectNames == ["demo", "demo-1", "demo-2"])
        let lines = settings.text(redisURL: "unix:///r", target: target).split(separator: "\n")
        #expect(lines.filter { $0.hasPrefix("  demo") } == ["  demo:", "  demo-1:", "  demo-2:"])
        #expect(lines.count { $0 == "    credentials: /c" } == 3)
    }

    @Test func settingsAreWritten() {
        var settings = WorkerSettings()
        settings.project = "mixed"
        settings.engine = .nghttp2
        settings.transport = "legacy"
        settings.maximumInFlight = 3_000
        settings.maximumLanes = 30
        settings.activeFanouts = 4
        let text = settings.text(redisURL: "unix:///r", target: target)
        #expect(text.contains("\nhttp_engine: nghttp2\nworker:\n"))
        #expect(text.contains("worker:\n  max_in_flight: 3000\n  max_lanes: 30\nprojects:\n  mixed:\n"))
        #expect(text.contains("    active_fanouts: 4\n    transport: legacy\n    server_key_file: /k\n"))
    }

    @Test func theSinkWaitsOnlyWhenTold() throws {
        let workspace = try Workspace()
        defer { workspace.remove() }
        let certificates = Certificates(authority: "/ca", certificate: "/cert", key: "/key", accountKey: "")
        func text(_ traits: Sink.Traits) -> String {
            SinkConfiguration(
                port: 1,
                certificates: certificates,
                traits: traits,
                folder: workspace.path,
                echoModule: traits.needsEcho ? "/echo.so" : nil
            ).text
        }
        #expect(!text(Sink.Traits()).contains("echo"))
        #expect(text(Sink.Traits(delaySeconds: 0.1)).contains("echo_sleep 0.1;"))
        #expect(text(Sink.Traits(servesMulticast: true)).contains("location = /fcm/send"))
    }

    @Test func jobsAreContractFields() {
        let topic = JobContent(target: .topic("news", audience: 5), message: "{}").fields
        #expect(topic == ["message", "{}", "results", "all", "topic", "news", "audience_size", "5"])
        let legacy = JobContent(target: .tokens("[]"), message: "{}", format: "legacy", results: "none").fields
        #expect(legacy == ["message", "{}", "results", "none", "format", "legacy", "tokens", "[]"])
    }

    @Test(arguments: [("", 0), ("ab", 0), ("aba", 1), ("abaaba", 2), ("ababa", 1), ("xxaba", 1)])
    func occurrencesDoNotOverlap(text: String, count: Int) {
        #expect(ResultStream.occurrences(of: "aba", in: text) == count)
    }

    @Test func streamIDsBeginWithTheTime() {
        #expect(StreamID.milliseconds("1700000000123-4") == 1_700_000_000_123)
        #expect(StreamID.milliseconds("job-4") == nil)
    }
}
