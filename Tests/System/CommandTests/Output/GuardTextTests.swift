import FanfareClient
import FanfareJSON
import StreamWire
import Testing

@testable import fanfare

@Suite struct GuardTextTests {
    private func progress(_ more: [String]) throws -> JobProgress {
        let fields = more + ["state", "active", "total", "5"]
        let status = try #require(JobStatus(id: "j", reply: .array(fields.map { .bulk(Array($0.utf8)) })))
        return JobProgress(status: status, nowMs: 5_000)
    }

    private static let all = [
        "personal", "1", "rate", "6000", "canary", "1%", "canary_wait_ms", "90000", "stop_if", "failed>5%",
        "send_window",
        "09:00-21:00 Europe/Madrid",
    ]

    @Test func guardsAreShownAsRowsAndAsJSON() throws {
        let job = try progress(Self.all)
        let table = JobRendering.table(job)
        #expect(
            table.contains(
                """
                personal     a message for each recipient
                rate limit   6000 a minute
                canary       1%, then a pause of 1 min 30 s
                stop if      failed>5%
                send window  09:00-21:00 Europe/Madrid
                """
            ),
            "\(table)"
        )
        let json = JSONValue.object(FleetJSON.object(job, in: "demo")).jsonText
        #expect(
            json.contains(
                #""personal":true,"guards":{"rate":6000,"canary":"1%","canary_wait_ms":90000,"stop_if":"failed>5%","#
                    + #""send_window":"09:00-21:00 Europe/Madrid"}"#
            ),
            "\(json)"
        )
        let plain = try progress([])
        #expect(!JSONValue.object(FleetJSON.object(plain, in: "demo")).jsonText.contains("guards"))
        #expect(!JobRendering.table(plain).contains("canary"))
        #expect(
            JobRendering.table(try progress(["canary", "9"])).contains("9, then a pause until `fanfare job resume`")
        )
    }

    @Test func listShowsGuardsAndTheReasonOfAPause() throws {
        let reason = "stop_if: failed 6.2% of 1000, more than 5%"
        let paused = try progress(Self.all + ["state", "paused", "reason", reason])
        let lines = JobListCommand.table([("demo", paused), ("demo", try progress([]))], withProject: false)
            .split(separator: "\n")
        #expect(
            lines[1].hasSuffix(
                "personal, 6000 a minute, canary 1%, stop if failed>5%, 09:00-21:00 Europe/Madrid  \(reason)"
            ),
            "\(lines)"
        )
        #expect(lines[2].hasSuffix("-"))
    }

    @Test func closedWindowIsWhatTheJobWaitsFor() throws {
        let reason = "send_window: opens at 2026-11-25T08:00:00.000Z"
        let waiting = try progress(Self.all + ["state", "waiting", "reason", reason])
        #expect(waiting.heldBy == reason && waiting.stop == nil)
        #expect(ProgressLine(progress: waiting).text(width: nil).hasPrefix("held by \(reason)"))
        let cut = try progress(
            Self.all + ["state", "waiting", "reason", "rate: 6000 a minute, cut to the project's quota"]
        )
        #expect(cut.heldBy == nil)
    }
}
