import FanfareClient
import Foundation
import StreamWire
import TestSupport
import Testing

@testable import FanfareDashboard

/// The live view of the fleet.
@Suite struct LiveTests {
    private func jobs(_ data: [String: Any], _ list: String) -> [String] {
        let projects = data["projects"] as? [[String: Any]] ?? []
        let jobs = projects.first { $0["id"] as? String == "demo" }?[list] as? [[String: Any]] ?? []
        return jobs.compactMap { $0["id"] as? String }
    }

    @Test func browsersFollowEveryChange() async throws {
        try await withDashboard { bench in
            let (one, two) = (
                try await bench.web.events(of: "demo"), try await bench.web.events(of: "demo")
            )
            for reader in [one, two] {
                let first = try await reader.next("fleet")
                #expect(jobs(first.data, "others").isEmpty && first.data["history"] != nil)
                #expect(reader.head?.headers["content-type"] == "text/event-stream; charset=utf-8")
            }
            try await bench.intake("<img src=x>".filter { $0.isLetter }, many(3))
            for reader in [one, two] {
                var seen: [String] = []
                while seen.isEmpty { seen = jobs(try await reader.next("change", "fleet").data, "others") }
                #expect(seen == ["imgsrcx"])
            }
        }
    }

    @Test func outageOfRedisIsPublishedAndEnds() async throws {
        try await withDashboard { bench in
            let reader = try await bench.web.events()
            _ = try await reader.next("fleet")
            bench.server.kill9()
            let update = try await reader.next("trouble")
            #expect((update.data["message"] as? String)?.hasPrefix("Redis: ") == true)
            let away = try await bench.web.get("/api/fleet")
            #expect(away.status == 503 && away.json["error"] as? String == "unavailable")
            try bench.server.restart()
            let back = try await reader.next("fleet")
            #expect((back.data["projects"] as? [Any])?.count == 1)
        }
    }

    @Test func missedChangeIsFollowedByTheWholeView() async throws {
        let hub = FleetHub(maximumBrowsers: 1)
        func publish(_ sent: Int) async throws {
            let now = RedisValue.array([.bulk(Array("now_ms".utf8)), .integer(Int64(1_000 + sent * 1_000))])
            var project = ProjectSnapshot(id: "p", overview: try #require(OverviewReply(now)))
            project.tally.sent = Int64(sent)
            await hub.publish(FleetSnapshot(projects: [project]), FleetMeter())
        }
        try await publish(1)
        let first = try #require(await hub.next(after: 0))
        #expect(first.event == "fleet" && first.version == 1)
        try await publish(2)
        #expect(try #require(await hub.next(after: 1)).event == "change")
        try await publish(3)
        #expect(try #require(await hub.next(after: 1)).event == "fleet")
        await hub.publish(readError: "away")
        #expect(try #require(await hub.next(after: 3)).event == "trouble")
        try await publish(4)
        #expect(try #require(await hub.next(after: 4)).event == "fleet")
        // A waiting browser is released when the hub closes.
        async let last = hub.next(after: 5)
        await hub.close()
        #expect(await last == nil)
    }

    @Test func browserBeyondTheLimitGets503() async throws {
        try await withDashboard { bench in
            var readers: [EventReader] = []
            for _ in 0..<64 {
                let reader = try await bench.web.events()
                _ = try await reader.next("fleet")
                readers.append(reader)
            }
            let refused = try await bench.web.get("/api/events")
            #expect(refused.status == 503 && refused.headers["retry-after"] == "30")
            #expect(refused.json["error"] as? String == "full")
            #expect(try await bench.web.get("/session").json["full"] as? Bool == true)
            // A browser that disconnects frees its slot.
            readers.removeLast()
            // The server notices it when it writes the next picture, within a second.
            let deadline = ContinuousClock.now + .seconds(60)
            while try await bench.web.get("/session").json["full"] as? Bool == true {
                try #require(ContinuousClock.now < deadline)
            }
            let reader = try await bench.web.events()
            _ = try await reader.next("fleet")
        }
    }

    @Test func cancelledTaskStopsWaiting() async throws {
        let hub = FleetHub(maximumBrowsers: 1)
        let waiting = Task { await hub.next(after: 0) }
        waiting.cancel()
        #expect(await waiting.value == nil)
    }
}
