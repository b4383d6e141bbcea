import FanfareClient
import FanfareJSON
import Foundation
import StreamWire
import Testing

@testable import FanfareDashboard

/// What the overview's stream carries, and a project's own.
@Suite struct OverviewStreamTests {
    private func project(_ id: String, sent: Int64, at second: Int64) throws -> ProjectSnapshot {
        let now = RedisValue.array([.bulk(Array("now_ms".utf8)), .integer(1_000_000 + second * 1_000)])
        var project = ProjectSnapshot(id: id, overview: try #require(OverviewReply(now)))
        project.tally.sent = sent
        return project
    }

    private func object(_ update: FleetHub.Update?) throws -> JSONObject {
        let json = try #require(update).json
        return try #require(try JSONParser.parse(json, limits: JSONLimits()).object)
    }

    @Test func overviewHasRowsAndAProjectHasItsJobs() async throws {
        let hub = FleetHub(maximumBrowsers: 1)
        for second in 0..<3 as Range<Int64> {
            let projects = try [project("a", sent: second * 10, at: second), project("b", sent: 0, at: second)]
            await hub.publish(FleetSnapshot(projects: projects), FleetMeter())
        }
        let rows = try object(await hub.next(after: 0))["projects"]?.array ?? []
        #expect(rows.count == 2)
        #expect(rows.allSatisfy { $0.object?["active"] == nil && $0.object?["quota_per_minute"] != nil })
        let detail = try object(await hub.next(after: 0, of: "a"))
        let projects = detail["projects"]?.array ?? []
        #expect(projects.count == 1 && projects.first?.object?["active"] != nil)
        #expect(detail["history"]?.object?["a"]?.array?.count == 2)
        let change = try object(await hub.next(after: 2, of: "a"))
        #expect(change["samples"]?.object?["a"] != nil && change["gone"]?.array?.isEmpty == true)
        let none = try object(await hub.next(after: 2, of: "nothing"))
        #expect(none["projects"]?.array?.isEmpty == true && none["gone"]?.array?.count == 1)
    }

    @Test func rowOfTwoHundredProjectsIsSmall() async throws {
        let hub = FleetHub(maximumBrowsers: 1)
        for second in 0..<400 as Range<Int64> {
            let projects = try (0..<200).map { try project("project-\($0)", sent: second * 1_000, at: second) }
            if second % 5 == 0 || second > 397 { await hub.publish(FleetSnapshot(projects: projects), FleetMeter()) }
        }
        let bytes = try #require(await hub.next(after: 0)).json.count
        #expect(bytes < 150_000, "\(bytes) bytes")
    }

    @Test func sparklinesShareTheirSteps() throws {
        var lines = Sparklines()
        #expect(
            !lines.add(
                FleetSnapshot(projects: [try project("a", sent: 0, at: 0), try project("idle", sent: 5, at: 0)])
            )
        )
        for second in 1...9 as ClosedRange<Int64> {
            let ended = lines.add(
                FleetSnapshot(projects: [
                    try project("a", sent: second * 7, at: second), try project("idle", sent: 5, at: second),
                ])
            )
            #expect(ended == (second == 5))
        }
        #expect(lines.latest["rates"]?.object?["a"]?.number?.int64 == 7)
        // A project that sends nothing has no line.
        #expect(lines.all["rates"]?.object?["idle"] == nil)
        // A gap of three steps repeats the mean of its time.
        _ = lines.add(FleetSnapshot(projects: [try project("a", sent: 35 + 150, at: 20)]))
        let rates = lines.all["rates"]?.object?["a"]?.array?.compactMap { $0.number?.int64 }
        #expect(rates == [7, 10, 10, 10])
        // A clock that went back starts again.
        _ = lines.add(FleetSnapshot(projects: [try project("a", sent: 0, at: 3)]))
        #expect(lines.all["rates"]?.object?["a"] == nil)
    }

    @Test func eventsOfAnInvalidProjectAreRefused() async throws {
        try await withDashboard { bench in
            let status = try await bench.web.get("/api/events?project=A%7D").status
            #expect(status == 400)
        }
    }

    @Test func storyOfATokenIsPostedEvenToAReadOnlyDashboard() async throws {
        try await withDashboard({ $0.isReadOnly = true }) { bench in
            let token = String(repeating: "a", count: 140)
            let story = try await bench.web.post("/api/token", #"{"token":"\#(token)","unmasked":true}"#)
            #expect(story.status == 200 && !story.body.contains(token))
            #expect((story.json["projects"] as? [[String: Any]])?.first?["project"] as? String == "demo")
            let badCursor = #"{"token":"t","project":"demo","cursor":"x"}"#
            for bad in [#"{}"#, #"{"token":"a b"}"#, #"{"token":"t","project":"A"}"#, badCursor] {
                #expect(try await bench.web.post("/api/token", bad).status == 400)
            }
            #expect(try await bench.web.get("/api/token?token=\(token)").status == 404)
        }
    }
}
