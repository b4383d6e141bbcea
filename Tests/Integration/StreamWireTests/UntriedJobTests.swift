import FanfareModel
import RedisTransport
import StreamWire
import TestSupport
import Testing

/// The id of a job that ended without an attempt is free; any other is taken for the dedupe window.
@Suite struct UntriedJobTests {
    private func isTaken(_ id: String, _ bench: LibraryBench) async throws -> Bool {
        try await bench.call(RedisCommand("EXISTS", bench.keys.base + "seen:" + id)).integer == 1
    }

    /// The flush that ends recipients of a batch.
    private func end(
        _ claim: Claim,
        _ range: Range<Int>? = nil,
        as status: RecordCall.Status = .cancelled,
        untried: Bool = true,
        number: Int = 1
    ) -> RecordCall {
        var call = RecordCall(job: claim.job, batch: claim.batch, epoch: claim.epoch)
        let recipients = claim.recipients[range ?? claim.recipients.indices]
        call.results = ResultBuffer(recipients.map { OneResult(index: $0.index, status: status, object: "") })
        call.untried = untried ? recipients.count : 0
        call.finish = range == nil || range?.upperBound == claim.recipients.count
        call.number = number
        return call
    }

    private func cancel(_ id: String, _ bench: LibraryBench) async throws {
        _ = try await bench.call(FunctionLibrary.cancel(bench.keys, job: id))
    }

    @Test(arguments: [1, 3, 2_500]) func idOfAJobCancelledBeforeItsTimeIsFree(_ total: Int) async throws {
        try await withBench { bench in
            try await bench.intake("j", tokens(total)) { $0.notBefore = 4_000_000_000_000 }
            #expect(try await bench.intake("j", tokens(total)) == .duplicate)
            try await cancel("j", bench)
            while true {
                let claims = try await bench.claim("w1").claims
                guard !claims.isEmpty else { break }
                for claim in claims {
                    // The same call twice: recipients count once.
                    let call = end(claim)
                    _ = try await bench.record(call, "w1")
                    _ = try await bench.record(call, "w1")
                }
            }
            #expect(try await bench.job("j")["state"] == "cancelled")
            let ended = try await bench.job("j")
            #expect(ended["duplicates"] == "1" && ended["id_free"] == "1")
            #expect(try await !isTaken("j", bench))
            #expect(try await bench.intake("j", tokens(1)) == .queued)
            let job = try await bench.job("j")
            #expect(job["state"] == "waiting" && job["duplicates"] == "0" && job["total"] == "1")
            try await bench.finish(try #require(try await bench.claim("w1").claims.first), "w1")
            #expect(try await bench.job("j")["sent"] == "1")
            #expect(try await bench.intake("j", tokens(1)) == .duplicate)
        }
    }

    /// Hands a job of one recipient over; nil if the entry stays in `jobs`.
    private func handOver(_ entry: String, _ bench: LibraryBench) async throws -> IntakeReply? {
        let job = Job(id: "j", hasOwnID: true, entryID: entry, target: tokens(1), message: Array("{}".utf8))
        do { return try await bench.intake(job, taker: "w1") } catch let error as RedisError {
            #expect(error.code.rawValue == IntakeReply.ending)
            return nil
        }
    }

    private func push(_ bench: LibraryBench) async throws -> String {
        try #require(try await bench.call(RedisCommand("XADD", bench.keys.jobs, "*", "id", "j")).string)
    }

    @Test(arguments: ["cancelled", "expired", "unwanted"])
    func pushDuringTheEndOfAnUntriedJobWaitsForTheEnd(_ reason: String) async throws {
        try await withBench { bench in
            if reason == "unwanted" {
                let first = try await push(bench)
                _ = try await bench.call(FunctionLibrary.cancelEntry(bench.keys, job: "j"))
                #expect(try await handOver(first, bench) == .queued)
            } else {
                try await bench.intake("j", tokens(1)) {
                    if reason == "expired" { $0.expiresAt = 1 } else { $0.notBefore = 4_000_000_000_000 }
                }
            }
            if reason == "cancelled" { try await cancel("j", bench) }
            let entry = try await push(bench)
            #expect(try await handOver(entry, bench) == nil)
            #expect(try await bench.call(RedisCommand("XLEN", bench.keys.jobs)).integer == 1)
            let claim = try #require(try await bench.claim("w1").claims.first)
            #expect(try await handOver(entry, bench) == nil)
            _ = try await bench.record(end(claim, as: reason == "expired" ? .expired : .cancelled), "w1")
            guard case .taken? = try await handOver(entry, bench) else { throw TestFailure("not taken") }
            #expect(try await bench.job("j")["duplicates"] == "0")
            #expect(try await handOver(entry, bench) == .gone)
        }
    }

    @Test func pushDuringTheEndOfATriedJobIsADuplicate() async throws {
        try await withBench { bench in
            try await bench.intake("j", tokens(300))
            let claim = try #require(try await bench.claim("w1").claims.first)
            _ = try await bench.record(end(claim, 0..<1, as: .failed, untried: false), "w1")
            try await cancel("j", bench)
            #expect(try await handOver(try await push(bench), bench) == .duplicate)
        }
    }

    @Test func cancelledPushDuringTheEndIsADuplicate() async throws {
        try await withBench { bench in
            try await bench.intake("j", tokens(1)) { $0.notBefore = 4_000_000_000_000 }
            try await cancel("j", bench)
            let entry = try await push(bench)
            _ = try await bench.call(FunctionLibrary.cancelEntry(bench.keys, job: "j"))
            #expect(try await handOver(entry, bench) == .duplicate)
            #expect(try await bench.call(RedisCommand("EXISTS", bench.keys.base + "unwanted")).integer == 0)
        }
    }

    /// One call hands both over: the first one's end does not stop the reply of the second.
    @Test func oneCallPostponesTheSecondEntryOfAnExpiredId() async throws {
        try await withBench { bench in
            var calls: [RedisCommand] = []
            for expiresAt: Int64 in [1, 0] {
                let entry = try await push(bench)
                var job = Job(id: "j", hasOwnID: true, entryID: entry, target: tokens(1), message: Array("{}".utf8))
                job.expiresAt = expiresAt
                calls.append(bench.intakeCall(job, taker: "w1").command(bench.keys))
            }
            let replies = try #require(try await bench.call(FunctionLibrary.coalesce(.intake, bench.keys, calls)).array)
            #expect(IntakeReply(replies[0]) == .queued)
            guard case .error(let text) = replies[1] else { throw TestFailure("\(replies)") }
            #expect(text.hasPrefix("ENDING "))
        }
    }

    @Test func idOfAJobWithOneAttemptIsTaken() async throws {
        try await withBench { bench in
            try await bench.intake("j", tokens(300))
            let claim = try #require(try await bench.claim("w1").claims.first)
            _ = try await bench.record(end(claim, 0..<1, as: .failed, untried: false), "w1")
            try await cancel("j", bench)
            _ = try await bench.record(end(claim, 1..<300, number: 2), "w1")
            let ended = try await bench.job("j")
            #expect(ended["state"] == "cancelled" && ended["id_free"] == nil)
            #expect(try await bench.intake("j", tokens(300)) == .duplicate)
        }
    }

    /// Each recipient failed without a send, such as recipients of a personal job that lack a value.
    @Test func idOfAJobThatFailedWithoutASendIsFree() async throws {
        try await withBench { bench in
            try await bench.intake("j", tokens(300))
            let claim = try #require(try await bench.claim("w1").claims.first)
            _ = try await bench.record(end(claim, 0..<200, as: .failed), "w1")
            #expect(try await isTaken("j", bench))
            _ = try await bench.record(end(claim, 200..<300, as: .failed, number: 2), "w1")
            #expect(try await bench.job("j")["state"] == "done")
            #expect(try await bench.intake("j", tokens(300)) == .queued)
        }
    }

    /// A worker that sent to the recipient may have died: its successor's results have an attempt.
    @Test func resultInDoubtKeepsTheIdTaken() async throws {
        try await withBench { bench in
            try await bench.intake("j", tokens(3))
            _ = try await bench.claim("w1")
            try await bench.declareDead("w1")
            try await cancel("j", bench)
            let claim = try #require(try await bench.claim("w2").claims.first)
            #expect(claim.recipients.allSatisfy { $0.progress == .maybeSent })
            _ = try await bench.record(end(claim, as: .unknown, untried: false), "w2")
            #expect(try await bench.intake("j", tokens(3)) == .duplicate)
        }
    }

    /// A late fact is written by a worker that does not hold the batch; what that worker did before is not known.
    @Test func lateResultKeepsTheIdTaken() async throws {
        try await withBench { bench in
            try await bench.intake("j", tokens(3))
            let claim = try #require(try await bench.claim("w1").claims.first)
            var late = end(claim, untried: false)
            late.late = true
            _ = try await bench.record(late, "w2")
            #expect(try await isTaken("j", bench))
        }
    }

    @Test func idOfAnEmptyAudienceIsFree() async throws {
        try await withBench { bench in
            let audience = Target.audience(key: "aud:{p}:none")
            #expect(try await bench.intake("j", audience) == .done)
            #expect(try await bench.job("j")["state"] == "done")
            _ = try await bench.call(RedisCommand("RPUSH", "aud:{p}:none", "t0"))
            #expect(try await bench.intake("j", audience) == .queued)
            #expect(try await bench.job("j")["total"] == "1")
            #expect(try await bench.intake("j", audience) == .duplicate)
        }
    }

    /// An entry's id names no other job, so there is nothing to say.
    @Test func jobWithoutAProducersIdSaysNothingOfIt() async throws {
        try await withBench { bench in
            let entry = try #require(try await bench.call(RedisCommand("XADD", bench.keys.jobs, "*", "x", "1")).string)
            let job = Job(id: entry, hasOwnID: false, entryID: entry, target: tokens(3), message: Array("{}".utf8))
            #expect(try await bench.intake(job, taker: nil) == .queued)
            try await cancel(entry, bench)
            _ = try await bench.record(end(try #require(try await bench.claim("w1").claims.first)), "w1")
            let hash = try await bench.job(entry)
            #expect(hash["state"] == "cancelled" && hash["id_free"] == nil)
        }
    }

    @Test func openJobKeepsItsIdWhenTheWindowEnds() async throws {
        try await withBench { bench in
            try await bench.intake("j", tokens(1)) { $0.notBefore = 4_000_000_000_000 }
            _ = try await bench.call(RedisCommand("DEL", bench.keys.base + "seen:j"))
            #expect(try await bench.intake("j", tokens(1)) == .duplicate)
        }
    }

    /// After a failover, workers write the results of the last seconds again, also of a job whose id is in use again.
    @Test func resultsOfAnEarlierJobDoNotCountForALaterOneOfTheSameId() async throws {
        try await withBench { bench in
            try await bench.intake("j", tokens(3)) { $0.notBefore = 4_000_000_000_000 }
            try await cancel("j", bench)
            let claim = try #require(try await bench.claim("w1").claims.first)
            _ = try await bench.record(end(claim), "w1")
            #expect(try await bench.intake("j", tokens(3)) == .queued)
            var late = end(claim)
            (late.late, late.finish) = (true, false)
            #expect(try await bench.record(late, "w1") == .gone)
            let later = try #require(try await bench.claim("w2").claims.first)
            #expect(later.born != "" && claim.born == "" && later.recipients.allSatisfy { $0.progress == .unsent })
            try await bench.finish(later, "w2")
            let job = try await bench.job("j")
            #expect(job["state"] == "done" && job["sent"] == "3")
        }
    }
}
