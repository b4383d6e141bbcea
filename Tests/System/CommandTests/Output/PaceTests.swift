import FanfareClient
import FanfareJSON
import StreamWire
import Testing

@testable import fanfare

@Suite struct PaceTests {
    @Test(arguments: [
        (0, "0.0/s"), (0.04, "0.0/s"), (3.44, "3.4/s"), (9.96, "10.0/s"), (10, "10/s"), (12_345.6, "12346/s"),
        (Double.infinity, "-"), (.nan, "-"),
    ])
    func ratesHaveOneDecimalBelowTen(rate: Double, text: String) { #expect(PaceText.rate(rate) == text) }

    @Test(arguments: [
        (0, "0 s"), (0.2, "1 s"), (59, "59 s"), (60, "1 min"), (200, "3 min 20 s"), (3_600, "1 h"),
        (7_530, "2 h 5 min"), (90_000, "1 d 1 h"), (-1, "-"), (Double.infinity, "-"),
    ])
    func durationsHaveTwoUnitsAtMost(seconds: Double, text: String) { #expect(PaceText.duration(seconds) == text) }

    private func status(_ fields: [String]) throws -> JobStatus {
        try #require(JobStatus(id: "j", reply: .array(fields.map { .bulk(Array($0.utf8)) })))
    }

    @Test(
        arguments: [
            (["state", "done", "total", "2", "sent", "2"], nil),
            (["state", "rejected"], "job j was rejected; nothing was sent"),
            (
                ["state", "cancelled", "total", "5", "sent", "2", "unknown", "1", "cancelled", "2"],
                "job j ended as cancelled, 2 of 5 sent: 1 unknown, 2 cancelled; `fanfare job results j --failed` lists them"
            ),
        ] as [([String], String?)]
    )
    func shortfallNamesTheCounts(fields: [String], text: String?) throws {
        #expect(JobWait.shortfall(try status(fields)) == text)
    }

    @Test func shownJobHasRateAndRemainingTime() throws {
        let active = try status(["state", "active", "total", "1000", "sent", "250", "started_ms", "1000"])
        let progress = JobProgress(status: active, nowMs: 11_000, turn: .holding(untilMs: nil), jobClass: .fanout)
        let object = FleetJSON.object(progress, in: "p")
        #expect(object["rate_per_second"]?.number?.int64 == 25 && object["left_seconds"]?.number?.int64 == 30)
        let table = JobRendering.table(progress)
        #expect(table.contains("rate       25/s\n") && table.contains("remaining  about 30 s left"))
        let waiting = try status(["state", "waiting", "total", "1000"])
        let third = JobProgress(status: waiting, nowMs: 1, turn: .waiting(ahead: 2), jobClass: .fanout)
        #expect(FleetJSON.object(third, in: "p")["queue_position"]?.number?.int64 == 3)
        let topic = try status(["state", "active", "total", "1"])
        let unknown = JobProgress(status: topic, nowMs: 1, turn: .holding(untilMs: nil), jobClass: .aimed)
        #expect(JobRendering.remaining(unknown)?.contains("not known") == true)
    }
}
