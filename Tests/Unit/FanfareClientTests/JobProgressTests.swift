import StreamWire
import Testing

@testable import FanfareClient

@Suite struct JobProgressTests {
    private func status(_ fields: [String: String]) throws -> JobStatus {
        let flat = fields.flatMap { [$0.key, $0.value] }
        return try #require(JobStatus(id: "j", reply: .array(flat.map { .bulk(Array($0.utf8)) })))
    }

    struct Row: Sendable {
        var state: String
        var total = "1000"
        var sent = "200"
        var failed = "50"
        var finishedMs: String?
        var pace: String?
        var rate: Double?
        var left: Double?
    }

    @Test(arguments: [
        Row(state: "active", rate: 25, left: 30),
        Row(state: "retrying", rate: nil, left: nil),
        Row(state: "paused", rate: nil, left: nil),
        // Ten recipients a second since the job moves again.
        Row(state: "active", pace: "5000 210 5000 210 9000", rate: 10, left: 75),
        Row(state: "active", pace: "9000 250 9000 250 9000", rate: nil, left: nil),
        Row(state: "active", pace: "9000 nothing", rate: 25, left: 30),
        Row(state: "done", total: "250", finishedMs: "6000", rate: 50, left: nil),
        Row(state: "active", sent: "0", failed: "0", rate: nil, left: nil),
        Row(state: "active", total: "1", sent: "1", failed: "0", rate: nil, left: nil),
        Row(state: "active", total: "100", sent: "200", failed: "0", rate: 10, left: nil),
    ])
    func rateAndRemainingTimeFollowTheCounters(row: Row) throws {
        var fields = ["state": row.state, "total": row.total, "sent": row.sent, "failed": row.failed]
        fields["started_ms"] = "1000"
        fields["finished_ms"] = row.finishedMs
        fields["pace"] = row.pace
        let progress = JobProgress(status: try status(fields), nowMs: 11_000)
        #expect(progress.resultsPerSecond == row.rate)
        #expect(progress.remainingSeconds == row.left)
    }

    @Test(arguments: [("cancelled", "being cancelled"), ("expired", "has expired")])
    func jobThatIsBeingEndedHasAReasonAndNoEstimate(_ counter: String, _ words: String) throws {
        let fields = ["state": "active", "total": "5000", "sent": "1000", counter: "1000", "started_ms": "0"]
        let ending = JobProgress(status: try status(fields), nowMs: 10_000)
        #expect(ending.remainingSeconds == nil)
        #expect(ending.stop?.contains(words) == true)
        let over = JobProgress(status: try status(fields.merging(["state": "cancelled"]) { $1 }), nowMs: 10_000)
        #expect(over.stop == nil)
    }

    @Test func fewAttemptsGiveNoEstimate() throws {
        let fields = ["state": "active", "total": "3004", "started_ms": "1000"]
        let few = try status(fields.merging(["sent": "9"]) { $1 })
        #expect(JobProgress(status: few, nowMs: 2_500).remainingSeconds == nil)
        let enough = try status(fields.merging(["sent": "10"]) { $1 })
        #expect(JobProgress(status: enough, nowMs: 2_500).remainingSeconds != nil)
    }

    @Test func cancelledRecipientsDoNotCountForTheRate() throws {
        let fields = ["state": "cancelled", "total": "100", "sent": "20", "cancelled": "80", "started_ms": "0"]
        let status = try status(fields.merging(["finished_ms": "10000"]) { $1 })
        #expect(status.finished == 100 && status.attempted == 20)
        #expect(JobProgress(status: status, nowMs: 20_000).resultsPerSecond == 2)
    }

    @Test func unstartedJobHasNoRate() throws {
        let waiting = JobProgress(status: try status(["state": "waiting", "total": "5"]), nowMs: 1)
        #expect(waiting.resultsPerSecond == nil && waiting.remainingSeconds == nil)
        // Redis came back with an older clock.
        let back = ["state": "active", "total": "5", "sent": "1", "started_ms": "50"]
        #expect(JobProgress(status: try status(back), nowMs: 10).resultsPerSecond == nil)
    }

    @Test func topicJobsRemainingTimeIsThatOfItsSlot() throws {
        let status = try status(["state": "active", "total": "1", "sent": "1", "started_ms": "1000"])
        var progress = JobProgress(status: status, nowMs: 2_000, turn: .holding(untilMs: 5_500), jobClass: .aimed)
        #expect(progress.remainingSeconds == 3.5)
        progress.nowMs = 9_000
        #expect(progress.remainingSeconds == 0)
        progress.turn = .holding(untilMs: nil)
        #expect(progress.remainingSeconds == nil)
    }

    @Test(
        arguments: [
            (["paused", "1", "pause_reason", "lunch"], "the project is paused: lunch"),
            (["block", "credentials: refused"], "the project is blocked: credentials: refused"),
            (
                ["pressure", "results", "alive", "1"],
                "the stream results is not read: a consumer group is too far behind"
            ),
            (["pressure", "memory", "alive", "1"], "Redis is nearly out of memory"),
            (["pressure", "odd", "alive", "1"], "the stream odd is not read: a consumer group is too far behind"),
            (["hold_ms", "1500"], "FCM asked to wait 2 s, until 1970-01-01T00:00:01.501Z"),
            (["unreachable", "FCM cannot be reached: no route"], "FCM cannot be reached: no route"),
            (["unreachable", "worker a: FCM cannot be reached", "unreachable_partly", "1"], nil),
            (["workers", "1", "alive", "0"], "no worker of the project is alive"),
            ([], nil),
        ] as [([String], String?)]
    )
    func heldByNamesWhatHoldsAJob(fields: [String], heldBy: String?) throws {
        let flat = (["now_ms", "1"] + fields).map { RedisValue.bulk(Array($0.utf8)) }
        var progress = JobProgress(status: try status(["state": "active"]), nowMs: 1)
        progress.project = OverviewReply(.array(flat))
        #expect(progress.heldBy == heldBy)
        // FCM's own wait ends by itself.
        #expect(progress.stop == (fields.first == "hold_ms" ? nil : heldBy))
        progress.status = try status(["state": "done"])
        #expect(progress.heldBy == nil)
        progress.status = try status(["state": "parked", "reason": "poison"])
        #expect(progress.heldBy == "poison")
    }

    @Test func scheduledJobSaysWhenItStarts() throws {
        let overview = OverviewReply(
            .array(
                ["now_ms", "1", "hold_ms", "1000", "pressure", "memory", "alive", "1"].map { .bulk(Array($0.utf8)) }
            )
        )
        var progress = JobProgress(status: try status(["state": "scheduled", "not_before": "7200000"]), nowMs: 1)
        progress.project = overview
        #expect(progress.heldBy == "it starts at 1970-01-01T02:00:00.000Z" && progress.stop == nil)
        #expect(progress.status.notBeforeMs == 7_200_000 && progress.startTime == "1970-01-01T02:00:00.000Z")
        progress.status = try status(["state": "scheduled"])
        #expect(progress.heldBy == nil, "written by an older version")
    }

    @Test func impossibleCountersDoNotTrap() throws {
        let most = "\(Int64.max)"
        let fields = [
            "state": "active", "total": most, "sent": most, "failed": most, "unknown": most, "cancelled": most,
            "expired": most, "started_ms": "\(Int64.min)", "finished_ms": most,
        ]
        let progress = JobProgress(status: try status(fields), nowMs: .max)
        #expect(progress.resultsPerSecond == nil)
        #expect(progress.status.finished > 0)
    }
}
