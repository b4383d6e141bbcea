import FanfareModel
import RedisTransport
import StreamWire
import TestSupport
import Testing

/// `pace` in a job's hash: from when on its pace counts, with the recipients that were tried until then.
@Suite struct JobPaceTests {
    private func record(_ claim: Claim, _ range: Range<Int>, number: Int) -> RecordCall {
        var call = RecordCall(job: claim.job, batch: claim.batch, epoch: claim.epoch)
        call.number = number
        for index in range { call.results.append(index: index, status: .sent, failure: nil) }
        return call
    }

    private func pace(_ bench: LibraryBench) async throws -> [Int64] {
        try await (bench.job("j")["pace"] ?? "").split(separator: " ").compactMap { Int64($0) }
    }

    @Test func firstFlushBeginsThePaceAndTheLastOneRemovesIt() async throws {
        try await withBench { bench in
            try await bench.intake("j", tokens(20))
            let claim = try #require(try await bench.claim("w1").claims.first)
            #expect(try await bench.job("j")["pace"] == nil)
            #expect(try await bench.record(record(claim, 0..<5, number: 1), "w1") == .ok())
            let first = try await pace(bench)
            #expect(first.count == 5 && first[0] == first[4] && first[2] == first[0] && first[1] == 5 && first[3] == 5)
            #expect(try await bench.record(record(claim, 5..<9, number: 2), "w1") == .ok())
            let second = try await pace(bench)
            #expect(Array(second.prefix(4)) == Array(first.prefix(4)) && second[4] >= first[4])
            var last = record(claim, 9..<20, number: 3)
            last.finish = true
            #expect(try await bench.record(last, "w1") == .ok())
            let job = try await bench.job("j")
            #expect(job["state"] == "done" && job["pace"] == nil)
        }
    }

    /// The age of `from`, `next` and the last flush in ms with their recipients, the recipients of this flush, and what the
    /// pace begins with afterwards: `from`, `next` or the flush itself.
    struct Row: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var from: (Int64, Int)
        var next: (Int64, Int)
        var last: Int64
        var tried: Int
        var begins: Begin
        enum Begin { case from, next, flush }
    }

    @Test(arguments: [
        Row(testDescription: "young", from: (2_000, 10), next: (2_000, 10), last: 100, tried: 200, begins: .from),
        Row(
            testDescription: "few recipients",
            from: (9_000, 10),
            next: (6_000, 20),
            last: 1_000,
            tried: 30,
            begins: .from
        ),
        Row(testDescription: "old enough", from: (11_000, 10), next: (6_000, 90), last: 100, tried: 200, begins: .next),
        Row(testDescription: "slow", from: (90_000, 10), next: (61_000, 12), last: 7_000, tried: 15, begins: .next),
        Row(
            testDescription: "stood still",
            from: (40_000, 10),
            next: (36_000, 90),
            last: 35_000,
            tried: 200,
            begins: .flush
        ),
        Row(
            testDescription: "a slow job's usual gap",
            from: (40_000, 10),
            next: (40_000, 10),
            last: 6_000,
            tried: 15,
            begins: .from
        ),
        Row(
            testDescription: "clock set back",
            from: (-4_000, 10),
            next: (-5_000, 90),
            last: -6_000,
            tried: 200,
            begins: .flush
        ),
    ])
    func paceBeginsWhereTheJobLastStoodStill(row: Row) async throws {
        try await withBench { bench in
            try await bench.intake("j", tokens(400))
            let claim = try #require(try await bench.claim("w1").claims.first)
            let time = try #require(JobInquiry.milliseconds(try await bench.call(JobInquiry.time)))
            let marks = [
                time - row.from.0, Int64(row.from.1), time - row.next.0, Int64(row.next.1), time - row.last,
            ]
            let text = marks.map(String.init).joined(separator: " ")
            _ = try await bench.call(RedisCommand("HSET", bench.keys.job("j"), "pace", text))
            #expect(try await bench.record(record(claim, 0..<row.tried, number: 1), "w1") == .ok())
            let now = try await pace(bench)
            try #require(now.count == 5)
            switch row.begins {
            case .from: #expect(Array(now.prefix(4)) == Array(marks.prefix(4)))
            case .next: #expect(now[0] == marks[2] && now[1] == marks[3] && now[2] == now[4])
            case .flush: #expect(now[0] == now[4] && now[1] == Int64(row.tried) && now[4] >= time)
            }
        }
    }
}
