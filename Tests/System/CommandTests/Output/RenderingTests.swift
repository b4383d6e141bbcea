import FanfareClient
import FanfareJSON
import Logging
import StreamWire
import Testing

@testable import fanfare

@Suite struct RenderingTests {
    private func status(_ fields: [String]) throws -> JobStatus {
        try #require(JobStatus(id: "j", reply: .array(fields.map { .bulk(Array($0.utf8)) })))
    }

    @Test func jobIsRenderedAsTextAndJSON() throws {
        let job = try status(["state", "rejected", "total", "0", "reason", "message: \"x\"", "created_ms", "1000"])
        #expect(
            JSONValue.object(FleetJSON.object(JobProgress(status: job, nowMs: 5_000), in: "demo")).jsonText
                == #"{"id":"j","project":"demo","state":"rejected","total":0,"sent":0,"failed":0,"unknown":0,"cancelled":0,"#
                + #""expired":0,"retrying":0,"maybe_dup":0,"duplicates":0,"created_ms":1000,"reason":"message: \"x\""}"#
        )
        #expect(
            JobRendering.table(JobProgress(status: job, nowMs: 5_000)) == """
                job     j
                state   rejected
                reason  message: "x"
                total   0
                sent    0
                failed  0
                pushed  \(ClockText.date(1_000)) (4 s ago)
                """
        )
    }

    @Test func errorsAreShownAsAShareOfTheResultsSoFar() throws {
        let fields = ["total", "30000", "sent", "740", "failed", "380", "error.UNREGISTERED.remove", "380"]
        func table(_ more: [String]) throws -> String {
            JobRendering.table(JobProgress(status: try status(more + fields), nowMs: 5_000))
        }
        #expect(try table(["state", "active"]).contains("380  33.9 %  of 1120 results  UNREGISTERED  remove"))
        let canary = try table(["state", "paused", "reason", "canary"])
        #expect(canary.contains("380  33.9 %  of 1120 of the canary  UNREGISTERED  remove"))
    }

    @Test func projectListNamesStoppedJobsWithTheirCommand() throws {
        var sample = SampleProject(id: "bank", waiting: 28_880, open: 1)
        sample.stopped = [("statement-11", "stop_if: unregistered 34.1% of 1000, more than 20%")]
        let fleet = FleetSnapshot(projects: [try sample.snapshot()])
        let line = "bank: statement-11 stopped itself: 34.1 % UNREGISTERED, 28,880 wait; "
        #expect(
            ProjectListCommand.jobsNeedingAttention(fleet) == [
                line + "`fanfare job resume statement-11 --project bank` continues it"
            ]
        )
        let table = ProjectListCommand.table(fleet.projects.map { .init(project: $0, sentPerSecond: nil) })
        #expect(table.contains("waiting") && table.hasSuffix("1 job stopped itself"))
    }

    @Test func timesBelowTenSecondsAreExact() throws {
        let rows: [(Int64, String)] = [
            (0, "0 ms"), (312, "312 ms"), (999, "999 ms"), (1_000, "1.0 s"), (1_250, "1.2 s"), (9_999, "9.9 s"),
            (10_001, "11 s"), (200_000, "3 min 20 s"),
        ]
        for (milliseconds, text) in rows { #expect(PaceText.span(milliseconds: milliseconds) == text) }
        let job = try status([
            "state", "done", "total", "2", "sent", "2", "started_ms", "1000", "first_pass_ms", "1005",
            "finished_ms", "1305",
        ])
        let table = JobRendering.table(JobProgress(status: job, nowMs: 5_000))
        #expect(table.contains("  after 5 ms\n") && table.hasSuffix("  after 300 ms"), "\(table)")
        // Two recipients within 305 ms have no rate.
        #expect(!table.contains("\nrate"), "\(table)")
    }

    @Test func rateIsShownAfterASecondAndNotWhilePaused() throws {
        func rate(_ state: String, nowMs: Int64) throws -> Double? {
            let fields = ["state", state, "total", "100", "sent", "10", "started_ms", "1000"]
            return JobProgress(status: try status(fields), nowMs: nowMs).resultsPerSecond
        }
        #expect(try rate("active", nowMs: 3_000) == 5)
        #expect(try rate("active", nowMs: 1_999) == nil)
        #expect(try rate("paused", nowMs: 3_000) == nil)
    }

    @Test func outageIsSaidOnce() throws {
        let cause = "FCM cannot be reached: connection refused"
        let overview = try #require(
            OverviewReply(.array(["now_ms", "5000", "unreachable", cause].map { .bulk(Array($0.utf8)) }))
        )
        func table(_ reason: String) throws -> String {
            let job = try status(["state", "active", "total", "2", "reason", reason])
            return JobRendering.table(JobProgress(status: job, nowMs: 5_000, project: overview))
        }
        let same = try table("FCM cannot be reached since 10:00:00: connection refused")
        #expect(same.contains("\nreason  FCM cannot") && !same.contains("held by"), "\(same)")
        #expect(try table("canary").contains("\nheld by  \(cause)"))
    }

    @Test func scheduledJobShowsItsStartInTheList() throws {
        let job = try status(["state", "scheduled", "total", "2", "not_before", "1700000000000"])
        let table = JobListCommand.table([("demo", JobProgress(status: job, nowMs: 1))], withProject: true)
        #expect(table.hasSuffix("starts at 2023-11-14T22:13:20.000Z"), "\(table)")
    }

    @Test func jobListCountsPossibleDuplicatesWhereThereAreSome() throws {
        func table(_ count: String) throws -> String {
            let job = try status(["state", "done", "total", "9", "sent", "9", "maybe_dup", count])
            return JobListCommand.table([("demo", JobProgress(status: job, nowMs: 1))], withProject: true)
        }
        #expect(try table("7").contains("maybe_dup") && table("7").contains(" 7 "))
        #expect(try !table("0").contains("maybe_dup"))
    }

    @Test func linesWithoutATerminalComeSoonAndAtEachChange() {
        let steps: [(state: JobStatus.State, seconds: Int)] = [
            (.active, 1), (.active, 2), (.active, 2), (.active, 2), (.active, 2), (.retrying, 1), (.retrying, 2),
            (.retrying, 10),
        ]
        var lines = PlainLines()
        let due = steps.map { lines.isDue($0.state, after: .seconds($0.seconds)) }
        #expect(due == [false, true, true, true, true, true, false, true])
    }

    @Test func topicJobShowsItsAudience() throws {
        func progress(_ source: String, _ size: String) throws -> JobProgress {
            let job = try status([
                "state", "active", "total", "1", "audience_source", source, "audience_estimate", size,
            ])
            #expect(job.audienceSource?.rawValue == source && job.audienceEstimate == Int64(size))
            return JobProgress(status: job, nowMs: 5_000)
        }
        let counted = try progress("counted", "1200")
        #expect(JobRendering.table(counted).contains("\naudience  1200 (counted)"))
        let json = JSONValue.object(FleetJSON.object(counted, in: "demo")).jsonText
        #expect(json.hasSuffix(#""audience_estimate":1200,"audience_source":"counted"}"#), "\(json)")
        #expect(JobRendering.table(try progress("none", "0")).contains("\naudience  size not known"))
        let other = try status(["state", "active", "total", "1"])
        #expect(other.audienceSource == nil && other.audienceEstimate == nil)
    }

    @Test func columnsAreAlignedAndNumbersToTheRight() {
        var table = TextTable(["name", "n"], numeric: [1])
        table.add(["a", "1000"])
        table.add(["long name", "7"])
        #expect(table.lines == ["name          n", "a          1000", "long name     7"])
    }

    @Test func tablesAndLogsEscapeControlCharacters() {
        var table = TextTable(["reason", "n"])
        table.add(["a\u{1B}[2J\u{9B}2J\u{7F}é\n", "1"])
        #expect(table.lines == ["reason       n", "a?[2J?2J?é?  1"])
        let values = [(key: "a", value: "é\u{9B}2J"), (key: "b", value: "\u{7F}"), (key: "c", value: "é")]
        #expect(LogOutput.render("T", .info, "m", values, isJSON: false).hasSuffix(#" m a="é\u009b2J" b="\u007f" c=é"#))
    }

    @Test func logRecordIsOneLineAsTextAndJSON() throws {
        let values = [(key: "job", value: "7"), (key: "reason", value: "a b\nlevel=critical"), (key: "x", value: "")]
        #expect(
            LogOutput.render("T", .warning, "A job was rejected.", values, isJSON: false)
                == #"T warning  A job was rejected. job=7 reason="a b\nlevel=critical" x="""#
        )
        let json = LogOutput.render("T", .info, "A job was rejected.", values, isJSON: true)
        let object = try #require(try JSONParser.parse(Array(json.utf8), limits: JSONLimits()).object)
        #expect(!json.contains("\n"))
        #expect(object["level"]?.string == "info")
        #expect(object["message"]?.string == "A job was rejected.")
        #expect(object["reason"]?.string == "a b\nlevel=critical")
    }

    /// Random text of a peer or a producer, in both formats.
    @Test func randomValuesStayInsideTheirLogRecord() throws {
        var random = SystemRandomNumberGenerator()
        let odd: [Unicode.Scalar] = [
            "\n", "\r", "\u{1B}", "\u{0}", "\u{7F}", "\u{9B}", "\u{2028}", "\u{2029}", "\u{202E}", "\u{2066}", "\"",
            "\\",
            "=", " ", "é", "𝄞", "{", "}", "a",
        ]
        for _ in 0..<2_000 {
            var text = String.UnicodeScalarView()
            for _ in 0..<Int.random(in: 0...20, using: &random) {
                text.append(odd.randomElement(using: &random) ?? "a")
            }
            let value = String(text)
            let line = LogOutput.render("T", .info, "m", [(key: "k", value: value)], isJSON: false)
            let json = LogOutput.render("T", .info, "m", [(key: "k", value: value)], isJSON: true)
            for rendered in [line, json] {
                #expect(!rendered.unicodeScalars.contains(where: PrintableText.isUnsafe), "\(value.debugDescription)")
            }
            let object = try #require(try JSONParser.parse(Array(json.utf8), limits: JSONLimits()).object)
            #expect(object["k"]?.string == value)
        }
    }
}
