import FanfareModel
import RedisTransport
import StreamWire
import TestSupport
import Testing

/// The count of possible duplicates in a job's hash and in the project's tally.
@Suite struct MaybeDupTests {
    /// - Parameter flags: of each result, by index; `x` is a flagged one.
    private func results(_ indexes: [Int], _ flags: String, _ status: RecordCall.Status = .sent) -> ResultBuffer {
        var results = ResultBuffer()
        for (index, flag) in zip(indexes, flags) {
            results.append(index: index, status: status, maybeDup: flag == "x")
        }
        return results
    }

    private func call(_ claim: Claim, _ results: ResultBuffer, number: Int = 1, finish: Bool = false) -> RecordCall {
        var call = RecordCall(job: claim.job, batch: claim.batch, epoch: claim.epoch)
        (call.results, call.number, call.finish) = (results, number, finish)
        return call
    }

    private func tally(_ bench: LibraryBench) async throws -> String? {
        try await bench.call(RedisCommand("HGET", bench.keys.base + "tally", "maybe_dup")).string
    }

    @Test func hashHasTheCounterFromItsFirstWrite() async throws {
        try await withBench { bench in
            for total in [1, 2, 1_001] { try await bench.intake("j\(total)", tokens(total)) }
            _ = try await bench.intake("empty", .audience(key: "aud:{p}:none"))
            for id in ["j1", "j2", "j1001", "empty"] { #expect(try await bench.job(id)["maybe_dup"] == "0") }
        }
    }

    @Test func repeatedFlushCountsEachFlaggedResultOnce() async throws {
        try await withBench { bench in
            try await bench.intake("j", tokens(6))
            let claim = try #require(try await bench.claim("w1").claims.first)
            let first = call(claim, results([0, 1, 2], "-xx"))
            for _ in 0..<2 { #expect(try await bench.record(first, "w1") == .ok()) }
            #expect(try await bench.job("j")["maybe_dup"] == "2", "it moves with each flush")
            _ = try await bench.record(call(claim, results([3, 4], "--"), number: 2), "w1")
            #expect(try await bench.job("j")["maybe_dup"] == "2")
            let last = call(claim, results([5], "x", .unknown), number: 3, finish: true)
            #expect(try await bench.record(last, "w1") == .ok())
            let job = try await bench.job("j")
            #expect(job["state"] == "done" && job["sent"] == "5" && job["maybe_dup"] == "3")
            #expect(try await tally(bench) == "3")
        }
    }

    /// A late result of a recipient that has one changes nothing, whatever its flag.
    @Test func lateFlushCountsItsNewResultsOnly() async throws {
        try await withBench { bench in
            try await bench.intake("j", tokens(4))
            let claim = try #require(try await bench.claim("w1").claims.first)
            _ = try await bench.record(call(claim, results([0, 1], "--")), "w1")
            var late = call(claim, results([0, 1, 2], "---").flaggedMaybeDuplicate())
            late.late = true
            for _ in 0..<2 { #expect(try await bench.record(late, "w2") == .ok()) }
            #expect(try await bench.job("j")["maybe_dup"] == "1")
        }
    }

    @Test func jobsOfOneRecipientThatEndInOneCallHaveTheirCount() async throws {
        try await withBench { bench in
            for id in ["a", "b", "c"] { try await bench.intake(id, tokens(1)) }
            let calls = try await bench.claim("w1").claims.map { claim in
                call(claim, results([0], claim.job == "b" ? "-" : "x"), finish: true)
                    .command(bench.keys, worker: "w1")
            }
            _ = try await bench.call(FunctionLibrary.coalesce(.record, bench.keys, calls))
            for (id, count) in [("a", "1"), ("b", "0"), ("c", "1")] {
                let job = try await bench.job(id)
                #expect(job["state"] == "done" && job["maybe_dup"] == count)
            }
            #expect(try await tally(bench) == "2")
        }
    }

    @Test func hashOfAnOlderVersionCountsFromZero() async throws {
        try await withBench { bench in
            try await bench.intake("j", tokens(2))
            _ = try await bench.call(RedisCommand("HDEL", bench.keys.job("j"), "maybe_dup"))
            let claim = try #require(try await bench.claim("w1").claims.first)
            _ = try await bench.record(call(claim, results([0], "x")), "w1")
            #expect(try await bench.job("j")["maybe_dup"] == "1")
        }
    }

    /// A flush without a flagged result carries no word more.
    @Test func callNamesFlagsOnlyWhereThereAreSome() {
        func words(_ results: ResultBuffer) -> [String] {
            var call = RecordCall(job: "j", batch: "0", epoch: "1")
            call.results = results
            let command = call.command(LibraryBench.keys, worker: "w")
            return (0..<command.count).map { String(decoding: command.word($0), as: UTF8.self) }
        }
        #expect(!words(results([0, 1], "--")).contains("flagged"))
        #expect(words(results([0, 1, 2, 3], "-x--")).suffix(2) == ["flagged", "01"])
    }

    @Test func dividedAndJoinedResultsKeepTheirFlags() {
        var all = results([0, 1], "x-")
        all.append(results([2], "x"))
        #expect(all.flagged == 2)
        #expect(all.divided(into: [1, 2]).map(\.flagged) == [1, 1])
        #expect(all.flaggedMaybeDuplicate().flagged == 3)
    }
}
