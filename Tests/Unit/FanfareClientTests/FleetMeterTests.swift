import FanfareJSON
import StreamWire
import Testing

@testable import FanfareClient

@Suite struct FleetMeterTests {
    private func project(atMs: Int, sent: Int, job: [String: String] = [:], waiting: Int64 = 0) throws
        -> ProjectSnapshot
    {
        let now = RedisValue.array([.bulk(Array("now_ms".utf8)), .integer(Int64(atMs))])
        var project = ProjectSnapshot(id: "p", overview: try #require(OverviewReply(now)))
        project.tally.sent = Int64(sent)
        project.recipientsWaiting = waiting
        if !job.isEmpty {
            let flat = job.flatMap { [$0.key, $0.value] }.map { RedisValue.bulk(Array($0.utf8)) }
            let status = try #require(JobStatus(id: "j", reply: .array(flat)))
            project.holding = [FleetJob(status: status)]
        }
        return project
    }

    private func job(_ sent: Int) -> [String: String] {
        ["state": "active", "total": "1000", "sent": "\(sent)", "started_ms": "1"]
    }

    @Test func rateIsThatOfTheLastSeconds() throws {
        var meter = FleetMeter()
        meter.add(FleetSnapshot(projects: [try project(atMs: 1_000, sent: 0, job: job(0))]))
        #expect(meter.rates(of: "p") == nil)
        for step in 1...10 {
            let now = try project(atMs: 1_000 + step * 1_000, sent: step * 50, job: job(step * 50), waiting: 500)
            meter.add(FleetSnapshot(projects: [now]))
        }
        let last = try project(atMs: 11_000, sent: 500, job: job(500), waiting: 500)
        #expect(meter.rates(of: "p")?.sent == 50 && meter.rate(of: "j", in: "p") == 50)
        #expect(meter.remainingSeconds(of: try #require(last.holding.first), in: last) == 10)
        #expect(meter.drainSeconds(of: last) == 10)
        // Redis came back with an older state.
        meter.add(FleetSnapshot(projects: [try project(atMs: 12_000, sent: 100, job: job(100))]))
        #expect(meter.rates(of: "p") == nil)
        meter.add(FleetSnapshot(projects: []))
        #expect(meter.rates(of: "p") == nil && meter.rate(of: "j", in: "p") == nil)
    }

    @Test func drainEstimateFallsBackToTheQuota() throws {
        var idle = try project(atMs: 1_000, sent: 0, waiting: 6_000)
        #expect(FleetMeter().drainSeconds(of: idle) == nil)
        idle.overview.quotaPerMinute = 60_000
        #expect(FleetMeter().drainSeconds(of: idle) == 6)
    }

    @Test func jsonOmitsUnknownValues() throws {
        var meter = FleetMeter()
        var demo = try project(atMs: 1_000, sent: 5, job: job(5))
        demo.overview.isPaused = true
        demo.overview.pauseReason = "<b>\"why\"</b>"
        meter.add(FleetSnapshot(projects: [demo]))
        let object = FleetJSON(meter).object(demo)
        #expect(object["state"]?.string == "paused" && object["reason"]?.string == "<b>\"why\"</b>")
        #expect(object["results_unread"] == nil && object["rates"] == nil && object["tally"]?.object?["sent"] == 5)
        let active = try #require(object["active"]?.array?.first?.object)
        #expect(active["id"] == "j" && active["total"] == 1_000 && active["class"] == nil)
        #expect(JSONNumber(tenths: 15).text == "1.5" && JSONNumber(tenths: -20).text == "-2")
    }
}
