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
        project.overview.open = 1
        project.overview.workersAlive = 1
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
        #expect(meter.rates(of: "p")?.sent == 50)
        #expect(meter.drainSeconds(of: last) == 10)
        // Redis came back with an older state.
        meter.add(FleetSnapshot(projects: [try project(atMs: 12_000, sent: 100, job: job(100))]))
        #expect(meter.rates(of: "p") == nil)
        meter.add(FleetSnapshot(projects: []))
        #expect(meter.rates(of: "p") == nil)
    }

    @Test func nothingIsEstimatedWithoutABasis() throws {
        var idle = try project(atMs: 1_000, sent: 0, waiting: 6_000)
        idle.overview.quotaPerMinute = 60_000
        #expect(FleetMeter().drainSeconds(of: idle) == nil)
    }

    struct Stop: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var change: @Sendable (inout ProjectSnapshot) -> Void
    }

    @Test(arguments: [
        Stop(testDescription: "paused") { $0.overview.isPaused = true },
        Stop(testDescription: "blocked") { $0.overview.blockReason = "credentials" },
        Stop(testDescription: "unreachable") { $0.overview.unreachable = "FCM cannot be reached" },
        Stop(testDescription: "backpressure") { $0.overview.pressure = "memory" },
        Stop(testDescription: "held") { $0.overview.holdMs = 1 },
        Stop(testDescription: "after a hold") { $0.overview.isRecovering = true },
        Stop(testDescription: "unserved") {
            $0.overview.workers = 1
            $0.overview.workersAlive = 0
        },
    ])
    func nothingIsEstimatedWhileSomethingStopsTheProject(stop: Stop) throws {
        var meter = FleetMeter()
        for step in 0...6 {
            let now = try project(atMs: step * 1_000, sent: step * 50, job: job(step * 50), waiting: 500)
            meter.add(FleetSnapshot(projects: [now]))
        }
        var last = try project(atMs: 7_000, sent: 350, job: job(350), waiting: 500)
        #expect(meter.drainSeconds(of: last) == 10)
        stop.change(&last)
        meter.add(FleetSnapshot(projects: [last]))
        #expect(meter.drainSeconds(of: last) == nil)
        let held = last.progress(of: try #require(last.holding.first))
        if stop.testDescription != "after a hold" { #expect(held.remainingSeconds == nil) }
        // Afterwards the pace is measured again: the stop does not count as a slow pace.
        for step in 8...9 {
            last = try project(atMs: step * 1_000, sent: step * 50, job: job(step * 50), waiting: 500)
            meter.add(FleetSnapshot(projects: [last]))
        }
        #expect(meter.drainSeconds(of: last) == 10)
    }

    @Test func recipientsThatOnlyWaitForARetryHaveNoEstimate() throws {
        var meter = FleetMeter()
        for step in 0...3 {
            var now = try project(atMs: step * 1_000, sent: step * 50, job: job(step * 50), waiting: 500)
            now.overview.retrying = 500
            meter.add(FleetSnapshot(projects: [now]))
            #expect(meter.drainSeconds(of: now) == nil)
        }
        var fields = job(150)
        fields["retrying"] = "850"
        let last = try project(atMs: 4_000, sent: 150, job: fields, waiting: 850)
        meter.add(FleetSnapshot(projects: [last]))
        #expect(last.progress(of: try #require(last.holding.first)).remainingSeconds == nil)
    }

    @Test func jobsThatWaitForTheirTimeDoNotCountForTheDrain() throws {
        var meter = FleetMeter()
        var last = try project(atMs: 0, sent: 0)
        for step in 0...3 {
            last = try project(atMs: step * 1_000, sent: step * 50, job: job(step * 50), waiting: 1_500)
            last.others = last.holding
            last.others[0].status.state = .scheduled
            last.others[0].status.total = 1_000 + last.others[0].status.sent
            meter.add(FleetSnapshot(projects: [last]))
        }
        #expect(meter.drainSeconds(of: last) == 10)
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
