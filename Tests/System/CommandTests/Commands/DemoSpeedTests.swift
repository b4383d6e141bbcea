import FanfareClient
import FanfareJSON
import FanfareModel
import StreamWire
import Testing

@testable import fanfare

@Suite struct DemoSpeedTests {
    private func status(_ fields: [String: String]) throws -> JobStatus {
        let words = fields.flatMap { [RedisValue.bulk(Array($0.key.utf8)), .bulk(Array($0.value.utf8))] }
        return try #require(JobStatus(id: "j", reply: .array(words)))
    }

    @Test func speedNamesEngineAndBuild() throws {
        let done = try status(["state": "done", "total": "10000", "started_ms": "1000", "first_pass_ms": "2234"])
        let speed = try #require(DemoSpeed(done, cpuSeconds: 0.55, engine: .nghttp2))
        #expect(
            speed.text(build: "release")
                == "8100 recipients a second, 18000 per CPU-second of the worker (engine nghttp2, release build)."
        )
        #expect(speed.text(build: "debug").hasSuffix("debug build: a release build is several times as fast)."))
        #expect(speed.json["recipients_per_cpu_second"] == 18_000 && speed.json["engine"] == "nghttp2")
        #expect(speed.json["recipients_per_second"] == 8_100)
    }

    @Test func speedOfAnUnknownCPUTimeIsLeftOut() throws {
        let done = try status(["state": "done", "total": "3", "started_ms": "1000", "first_pass_ms": "1000"])
        let speed = try #require(DemoSpeed(done, cpuSeconds: nil, engine: .curl))
        #expect(speed.text(build: "release") == "3000 recipients a second (engine curl, release build).")
        #expect(DemoSpeed(try status(["state": "done", "total": "3"]), cpuSeconds: 1, engine: .curl) == nil)
    }

    @Test func cpuTimeIsThatOfTheWorkersThreads() {
        let rest = " S 1 2 3 4 5 6 7 8 9 10 1200 34 0 0"
        #expect(DemoSpeed.workerTicks("7 (fanfare-loop)" + rest) == 1_234)
        #expect(DemoSpeed.workerTicks("7 (fanfare-lease)" + rest) == 1_234)
        for line in ["7 (fanfare)" + rest, "7 (a) fanfare-loop)" + rest, "7 (fanfare-loop) S 1", "", ")("] {
            #expect(DemoSpeed.workerTicks(line) == nil)
        }
    }

    /// A long job's stream has failures only, and the results that may be duplicates.
    @Test func summaryOfFailuresCountsTheSentOfTheJob() throws {
        let mix = DemoMix(count: 1_000)
        var summary = DemoSummary(sent: 960)
        #expect(!summary.isAsExpected(mix))
        var index = 0
        for (row, count) in mix.expected where row != .sent {
            for _ in 0..<count {
                index += 1
                summary.add(try result(index, status: row.status, error: row.error, action: row.action))
            }
        }
        summary.add(try result(999, status: "sent", error: nil, action: "none"))
        #expect(summary.isAsExpected(mix))
        #expect(!DemoSummary(sent: nil).isAsExpected(mix))
    }

    private func result(_ index: Int, status: String, error: String?, action: String) throws -> JobResult {
        let more = error.map { #","error":"\#($0)""# } ?? ""
        let text = #"[{"i":\#(index),"token":"t","status":"\#(status)","action":"\#(action)","attempts":1\#(more)}]"#
        let words = ["job", "j", "results", text].map { RedisValue.bulk(Array($0.utf8)) }
        let entry = try #require(StreamEntry(.array([.bulk(Array("1-1".utf8)), .array(words)])))
        return try #require(try ResultEntry(entry).results.first)
    }
}
