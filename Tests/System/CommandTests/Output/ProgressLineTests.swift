import FanfareClient
import FanfareJSON
import StreamWire
import Testing

@testable import fanfare

@Suite struct ProgressLineTests {
    private func status(_ fields: [String]) throws -> JobStatus {
        try #require(JobStatus(id: "j", reply: .array(fields.map { .bulk(Array($0.utf8)) })))
    }

    private func overview(_ pairs: [String]) throws -> OverviewReply {
        try #require(OverviewReply(.array((["now_ms", "11000"] + pairs).map { .bulk(Array($0.utf8)) })))
    }

    private func line(_ progress: JobProgress, nextRetryMs: Int64? = nil, width: Int? = nil) -> String {
        ProgressLine(progress: progress, nextRetryMs: nextRetryMs).text(width: width)
    }

    @Test func lineBeginsWithTheEstimate() throws {
        let active = try status(["state", "active", "total", "1000", "sent", "250", "started_ms", "1000"])
        let progress = JobProgress(status: active, nowMs: 11_000)
        let left = PaceText.duration(try #require(progress.remainingSeconds))
        #expect(line(progress) == "\(left) left  25%  [######..................]  250/1000  25/s")
    }

    @Test(arguments: 0...200)
    func lineFitsEveryWidthWithWholeNumbers(width: Int) throws {
        let active = try status([
            "state", "retrying", "total", "1000000000", "sent", "999999000", "failed", "123456", "unknown", "4321",
            "retrying", "7777", "started_ms", "1000", "first_pass_ms", "9000",
        ])
        let progress = JobProgress(status: active, nowMs: 11_000)
        let whole = Set(line(progress, nextRetryMs: 19_000).split(separator: " "))
        let text = line(progress, nextRetryMs: 19_000, width: width)
        #expect(TextWidth.of(text) <= width)
        for word in text.split(separator: " ") where word.contains(where: \.isNumber) {
            #expect(whole.contains(word), "\(word) of \(text)")
        }
    }

    @Test func narrowLineKeepsShareAndCounts() throws {
        let active = try status([
            "state", "active", "total", "200000", "sent", "99801", "failed", "17", "started_ms", "1000",
        ])
        let text = line(JobProgress(status: active, nowMs: 11_000), width: 79)
        #expect(
            text.contains("49%") && text.contains("99818/200000") && text.contains("9982/s")
                && text.contains("17 failed")
        )
        #expect(line(JobProgress(status: active, nowMs: 11_000), width: 20) == "49%  99818/200000")
    }

    @Test(
        arguments: [
            (19_000, "12 wait for a retry, next in 8 s  99%  "), (10_000, "12 wait for a retry, next now  99%  "),
            (nil, "12 wait for a retry  99%  "),
        ] as [(Int64?, String)]
    )
    func tailNamesWhatItWaitsFor(nextRetryMs: Int64?, start: String) throws {
        let tail = try status([
            "state", "retrying", "total", "2000", "sent", "1988", "retrying", "12", "first_pass_ms", "9000",
        ])
        let progress = JobProgress(status: tail, nowMs: 11_000)
        #expect(line(progress, nextRetryMs: nextRetryMs).hasPrefix(start))
        #expect(JobRendering.table(progress, nextRetryMs: nextRetryMs).contains("tail        " + start.dropLast(7)))
    }

    @Test func heldAndPausedLinesNameTheReason() throws {
        let active = try status(["state", "active", "total", "1000", "sent", "250", "started_ms", "1000"])
        var progress = JobProgress(status: active, nowMs: 11_000, project: try overview(["hold_ms", "5000"]))
        #expect(line(progress).hasPrefix("held by FCM until \(ClockText.time(16_000))"))
        #expect(JobRendering.table(progress).contains("FCM until \(ClockText.time(16_000)), for another 5 s"))
        progress.project = try overview(["paused", "1", "pause_reason", String(repeating: "long ", count: 40)])
        let text = line(progress, width: 79)
        #expect(text.hasPrefix("held by the project is paused") && text.contains("…") && text.contains("25%  250/1000"))
        #expect(TextWidth.of(text) <= 79)
    }

    @Test func waitingFanoutShowsItsPlace() throws {
        let waiting = try status(["state", "waiting", "total", "1000"])
        let second = JobProgress(status: waiting, nowMs: 1, turn: .waiting(ahead: 1), jobClass: .fanout)
        #expect(line(second).hasPrefix("1 fan-out waits before it  0%  "))
        let topic = try status(["state", "active", "total", "1", "sent", "0"])
        let held = JobProgress(status: topic, nowMs: 1_000, turn: .holding(untilMs: 4_000), jobClass: .aimed)
        #expect(line(held) == "3 s left  0%  0/1")
    }

    @Test func lineAcceptsImpossibleCounters() throws {
        let odd = try status(["state", "active", "total", "1", "sent", "-9223372036854775808"])
        #expect(line(JobProgress(status: odd, nowMs: 1)).hasPrefix("0%"))
        let more = try status(["state", "done", "total", "1", "sent", "7"])
        #expect(line(JobProgress(status: more, nowMs: 1)) == "100%  7/1  done")
        #expect(ProgressLine.bar(more, width: 4) == "[####]" && ProgressLine.bar(odd, width: 4) == "[....]")
    }

    @Test func shownJobTellsStartErrorsAndBothPasses() throws {
        let done = try status([
            "state", "done", "total", "1000", "sent", "700", "failed", "300", "created_ms", "1000", "started_ms",
            "2000",
            "first_pass_ms", "12000", "finished_ms", "42000", "error.UNREGISTERED.remove", "300",
        ])
        let progress = JobProgress(status: done, nowMs: 50_000)
        let rows = JobRendering.table(progress)
        for row in ["UNREGISTERED  remove", "first pass  ", "  after 10 s", "  after 30 s", "(49 s ago)"] {
            #expect(rows.contains(row), "\(row) in \(rows)")
        }
        let fields = ["state", "scheduled", "total", "1", "not_before", "7201000"]
        let scheduled = JobProgress(status: try status(fields), nowMs: 1_000)
        #expect(JobRendering.table(scheduled).contains("starts  \(ClockText.date(7_201_000)) (in 2 h)"))
        let json = FleetJSON.object(scheduled, in: "demo")
        #expect(json["not_before_ms"]?.number?.int64 == 7_201_000 && json["not_before"] == nil)
    }
}
