import FanfareModel
import StreamWire
import TestSupport
import Testing

/// Batches whose workers die, in a real server.
@Suite struct QuarantineTests {
    @Test func crashingBatchIsQuarantinedAndThenParked() async throws {
        try await withBench { bench in
            try await bench.intake("pill", tokens(2))
            for crash in 1...3 {
                try await bench.register("c\(crash)")
                let claims = try await bench.claim("c\(crash)").claims
                #expect(claims.map(\.job) == ["pill"])
                #expect(claims.map(\.deliveries) == [crash])
                try await bench.declareDead("c\(crash)")
            }
            // The worker claims nothing while it holds a batch, and then only the suspect. Other workers claim the rest.
            let taken = try await bench.intake("busy", tokens(1), taker: "w1")
            guard case .taken(let epoch, _) = taken else { throw TestFailure("not taken") }
            try await bench.intake("good", tokens(1))
            let nothing = try await bench.claim("w1").claims
            #expect(nothing.isEmpty)
            let rest = try await bench.claim("w2").claims
            #expect(rest.map(\.job) == ["good"])
            try await bench.finish(Claim(job: "busy", epoch: epoch, watermark: 128, taken: ["t0"]), "w1")
            let alone = try await bench.claim("w1").claims
            #expect(alone.map(\.job) == ["pill"])
            #expect(alone.first?.isQuarantined == true)
            try await bench.intake("more", tokens(1))
            let stillAlone = try await bench.claim("w1").claims
            #expect(stillAlone.isEmpty)

            try await bench.declareDead("w1")
            let job = try await bench.job("pill")
            #expect(job["state"] == "parked")
            #expect(job["reason"] == "poison: batch 0 took its worker down 4 times in a row")
            let dead = try await bench.call(RedisCommand("XRANGE", bench.keys.dead, "-", "+")).array ?? []
            let fields = dead.first?.array?[1].array?.compactMap(\.string) ?? []
            #expect(fields.contains("crashes"))
            #expect(fields.contains("f.message"))
            // The page Results describes the fields of an entry.
            let page = try Set(PageTable(page: "Results", section: "## dead").names)
            let names = stride(from: 0, to: fields.count, by: 2).map { fields[$0] }.filter { !$0.hasPrefix("f.") }
            #expect(page.symmetricDifference(names) == ["f.<field>"])
            let others = try await bench.claim("w2").claims
            #expect(others.map(\.job) == ["more"])

            let entry = try #require(dead.first?.array?.first?.string)
            let replayed = try await bench.words(FunctionLibrary.replay(bench.keys, entryID: entry))
            #expect(replayed == ["resumed", "pill"])
            let back = try await bench.claim("w2").claims
            #expect(back.map(\.job) == ["pill"])
            #expect(back.first?.isQuarantined == false)
        }
    }

    @Test func crashingRetryIsQuarantinedAndThenParked() async throws {
        try await withBench { bench in
            try await bench.intake("pill", tokens(2))
            // Each worker schedules a retry of the recipients that may have been sent, and dies.
            var alone: Claim?
            for crash in 1...8 where alone == nil {
                let name = "c\(crash)"
                try await bench.register(name)
                for claim in try await bench.claim(name).claims {
                    if claim.isQuarantined { alone = claim }
                    let doubtful = claim.recipients.filter { $0.progress == .maybeSent }
                    guard alone == nil, !doubtful.isEmpty else { continue }
                    var call = RecordCall(job: "pill", batch: claim.batch, epoch: claim.epoch)
                    let history = RecipientHistory(attempts: crash, firstAttemptMs: 1, maybeDuplicate: true)
                    call.retries = doubtful.map {
                        .init(index: $0.index, dueMs: 1, parked: false, packed: history.packed(with: $0.value))
                    }
                    call.finish = true
                    #expect(try await bench.record(call, name) == .ok(abort: ""))
                    _ = try await bench.claim(name)
                }
                try await bench.declareDead(name)
            }
            #expect(alone != nil)
            let job = try await bench.job("pill")
            #expect(job["state"] == "parked")
        }
    }

    @Test func batchWithAResultIsNotQuarantined() async throws {
        try await withBench { bench in
            try await bench.intake("a", tokens(10))
            for crash in 1...5 {
                let name = "c\(crash)"
                try await bench.register(name)
                let claim = try #require(try await bench.claim(name).claims.first)
                #expect(!claim.isQuarantined)
                var call = RecordCall(job: "a", batch: claim.batch, epoch: claim.epoch)
                call.results = ResultBuffer([bench.sent(crash)])
                #expect(try await bench.record(call, name) == .ok(abort: ""))
                try await bench.declareDead(name)
            }
        }
    }
}
