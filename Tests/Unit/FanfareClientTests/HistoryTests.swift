import StreamWire
import Testing

@testable import FanfareClient

/// Histories as pages read them, from what Redis holds.
@Suite struct HistoryTests {
    private func history(
        _ texts: [String?],
        from slot: Int64,
        step: HistoryInquiry.Step = .tenSeconds,
        marks: [StreamEntry] = []
    ) -> ProjectHistory {
        ProjectHistory(
            slots: slot...(slot + Int64(texts.count) - 1),
            texts: texts.map { $0.map { .bulk(Array($0.utf8)) } ?? .null },
            marks: marks,
            quota: 600,
            step: step,
            nowMs: 0
        )
    }

    @Test func slotsBecomeSamplesOldestFirst() throws {
        let read = history(
            ["7 sent=5 failed=2 unknown=1 retries=3 waiting=9 quota=60 error.INTERNAL=2 latency.4=8"],
            from: 7
        )
        let sample = try #require(read.samples.first)
        #expect(read.stepMs == 10_000 && sample.atMs == 70_000)
        #expect((sample.sent, sample.failed, sample.unknown, sample.retries) == (5, 2, 1, 3))
        #expect(sample.waiting == 9 && sample.quotaPerMinute == 60 && sample.errors == ["INTERNAL": 2])
        #expect(sample.latency.count == 8 && sample.results == 8)
        #expect(history([nil, nil], from: 2, step: .fiveMinutes).samples.map(\.atMs) == [600_000, 900_000])
    }

    @Test func idleStepsAreEmptyAndKeepTheQuota() {
        let read = history([nil, "2 sent=5 quota=60", nil, "4 sent=1 quota=90", nil], from: 1)
        #expect(read.samples.map(\.sent) == [0, 5, 0, 1, 0])
        #expect(read.samples.map(\.quotaPerMinute) == [60, 60, 90, 90, 600])
    }

    @Test(arguments: ["", "x", "2", "1 sent=5", "2 sent", "2 sent=-5", "2 sent=99999999999999999999", "2 =5 sent=x"])
    func malformedOrOldSlotIsEmpty(text: String) {
        let sample = history([text], from: 2).samples[0]
        #expect(sample.sent == 0 && sample.errors.isEmpty && sample.latency.count == 0)
    }

    @Test func hugeCountsDoNotTrap() {
        let sample = history(
            ["2 sent=9223372036854775807 failed=9223372036854775807 latency.0=9223372036854775807"],
            from: 2
        )
        .samples[0]
        #expect(sample.sent == 1_000_000_000_000_000 && sample.results == 2_000_000_000_000_000)
        #expect(sample.latency.percentile(0.5) == 2.5)
    }

    @Test func percentilesLieWithinTheirBucket() throws {
        var histogram = LatencyHistogram()
        #expect(histogram.percentile(0.5) == nil)
        histogram.counts[3] = 90
        histogram.counts[5] = 10
        #expect(histogram.percentile(0.5) == 25.0 + 25.0 * 50 / 90)
        #expect(histogram.percentile(0.9) == 50)
        #expect(histogram.percentile(0.95) == 100 + 150 * 0.5)
        #expect(histogram.percentile(1) == 250 && histogram.percentile(7) == 250 && histogram.percentile(0) == 25)
        var other = LatencyHistogram()
        other.counts[12] = 1_000
        histogram += other
        #expect(histogram.count == 1_100 && histogram.percentile(0.99) == 20_000)
    }

    @Test func marksHaveTheTimeOfTheirEntry() {
        func entry(_ id: String, _ fields: [String]) -> StreamEntry? {
            StreamEntry(.array([.bulk(Array(id.utf8)), .array(fields.map { .bulk(Array($0.utf8)) })]))
        }
        let entries = [
            entry("1700000000123-0", ["kind", "hold", "text", "FCM asked to wait 3 s"]), entry("5-0", ["text", "x"]),
            entry("6-0", ["kind", "later-kind"]),
        ].compactMap { $0 }
        let expected = [
            HistoryMark(atMs: 1_700_000_000_123, kind: .hold, text: "FCM asked to wait 3 s"),
            HistoryMark(atMs: 6, kind: .init(rawValue: "later-kind"), text: ""),
        ]
        #expect(history([nil], from: 1, marks: entries).marks == expected)
    }
}
