import FanfareModel
import StreamWire
import TestSupport
import Testing

/// The trace context of a job's producer in the entries of `results`.
@Suite struct ResultTraceTests {
    private static let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

    /// The fields of each entry of `results` but the results themselves.
    private func entries(_ bench: LibraryBench) async throws -> [[String: String]] {
        let values = try await bench.call(RedisCommand("XRANGE", bench.keys.results, "-", "+")).array ?? []
        return values.compactMap { StreamEntry($0) }.map { entry in
            var fields: [String: String] = [:]
            for field in entry.fields where field.name != "results" {
                fields[field.name] = String(decoding: field.value, as: UTF8.self)
            }
            return fields
        }
    }

    /// Ends every recipient of the job with a result in the stream, at most 400 in a flush.
    private func end(_ bench: LibraryBench, as status: RecordCall.Status) async throws {
        while true {
            let claims = try await bench.claim("w1").claims
            guard !claims.isEmpty else { return }
            for claim in claims {
                for (number, from) in stride(from: 0, to: claim.recipients.count, by: 400).enumerated() {
                    let part = claim.recipients[from..<min(from + 400, claim.recipients.count)]
                    var call = RecordCall(job: claim.job, batch: claim.batch, epoch: claim.epoch)
                    call.results = ResultBuffer(
                        part.map { OneResult(index: $0.index, status: status, object: "{\"i\":\($0.index)}") }
                    )
                    call.number = number + 1
                    call.finish = part.endIndex == claim.recipients.count
                    _ = try await bench.record(call, "w1")
                }
            }
        }
    }

    @Test(arguments: [1, 3, 1_500], [RecordCall.Status.sent, .expired])
    func everyEntryOfATracedJobHasItsContext(_ total: Int, _ status: RecordCall.Status) async throws {
        try await withBench { bench in
            try await bench.intake("j", tokens(total)) {
                $0.traceparent = Self.parent
                $0.tracestate = "v=1"
            }
            try await end(bench, as: status)
            let entries = try await entries(bench)
            #expect(entries.count == (total == 1_500 ? 5 : 1))
            #expect(entries.allSatisfy { $0 == ["job": "j", "traceparent": Self.parent, "tracestate": "v=1"] })
        }
    }

    @Test func entryHasNoStateOfAJobWithoutOne() async throws {
        try await withBench { bench in
            try await bench.intake("j", tokens(2)) { $0.traceparent = Self.parent }
            try await end(bench, as: .sent)
            #expect(try await entries(bench) == [["job": "j", "traceparent": Self.parent]])
        }
    }

    @Test(arguments: [1, 3]) func entryOfAnUntracedJobHasNoMoreFields(_ total: Int) async throws {
        try await withBench { bench in
            try await bench.intake("j", tokens(total))
            try await end(bench, as: .sent)
            #expect(try await entries(bench) == [["job": "j"]])
        }
    }

    /// The worker that reports a cancelled recipient late still adds the context.
    @Test func lateResultsHaveTheContext() async throws {
        try await withBench { bench in
            try await bench.intake("j", tokens(3)) { $0.traceparent = Self.parent }
            let claim = try #require(try await bench.claim("w1").claims.first)
            try await bench.declareDead("w1")
            var late = RecordCall(job: claim.job, batch: claim.batch, epoch: claim.epoch)
            late.late = true
            late.results = ResultBuffer([bench.sent(1)])
            #expect(try await bench.record(late, "w1") == .ok())
            #expect(try await entries(bench) == [["job": "j", "traceparent": Self.parent]])
        }
    }
}
