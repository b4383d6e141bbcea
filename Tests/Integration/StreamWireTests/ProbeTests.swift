import FanfareModel
import RedisTransport
import StreamWire
import TestSupport
import Testing

/// What probes a blocked project, and what ends its block.
@Suite struct ProbeTests {
    @Test func workerWithoutARecipientGetsOneThatWasNotRefused() async throws {
        try await withBench { bench in
            try await bench.block()
            try await bench.waitsEnd()
            try await bench.intake("healthy", tokens(3))
            let reply = try await bench.claim(bench.call("w1", held: 0))
            #expect(reply.claims.map(\.job) == ["healthy"] && !reply.isProbe && reply.claims[0].isProbe)
            #expect(try await bench.claim(bench.call("w2", held: 1_000)).claims.isEmpty, "its hands are full")
        }
    }

    @Test func oneWorkerAMinuteMaySendARecipientAtHand() async throws {
        try await withBench { bench in
            try await bench.block()
            #expect(try await bench.claim(bench.call("w1", held: 1)).isProbe, "the first probe is of another job")
            #expect(try await bench.claim(bench.call("w1", held: 1)).isProbe == false, "the minute is not over")
            try await bench.minutePasses()
            let reply = try await bench.claim(bench.call("w1", held: 1))
            #expect(reply.isProbe && reply.claims.isEmpty && reply.probeMs == 60_000)
            #expect(try await bench.claim(bench.call("w2", held: 1)).isProbe == false)
        }
    }

    @Test func refusedRecipientsAreTheProbeInTurnWhenNoOtherIsLeft() async throws {
        try await withBench { bench in
            try await bench.block()
            var probed: [String] = []
            for _ in 0..<2 {
                try await bench.minutePasses()
                if probed.isEmpty { try await bench.waitsEnd() }
                let claim = try #require(try await bench.claim(bench.call("w1", held: 0)).claims.first)
                #expect(claim.isProbe && claim.recipients.count == 1)
                probed.append(claim.job)
                var record = bench.refusal(claim, [9])
                record.finish = true
                #expect(try await bench.record(record, "w1") == .ok())
            }
            #expect(Set(probed).count == 2)
        }
    }

    @Test func probeIsARetryThatWasNotRefusedIfThereIsOne() async throws {
        try await withBench { bench in
            try await bench.intake("slow", tokens(1))
            try await bench.retry(0, of: try #require(try await bench.claim("w1").claims.first), "w1", finish: true)
            _ = try await bench.call(
                RedisCommand("ZADD", bench.keys.base + "retry", "4000000000000", "slow/0")
            )
            try await bench.block()
            try await bench.waitsEnd()
            _ = try await bench.call(RedisCommand("ZADD", bench.keys.base + "retry", "2", "slow/0"))
            try await bench.minutePasses()
            let claim = try #require(try await bench.claim(bench.call("w1", held: 0)).claims.first)
            #expect(claim.isProbe && claim.job == "slow")
        }
    }

    @Test func refusedRecipientIsNoProbeWhileAnotherWorkerHoldsOthers() async throws {
        try await withBench { bench in
            try await bench.intake("healthy", tokens(1))
            let held = try #require(try await bench.claim("w2").claims.first)
            try await bench.block()
            try await bench.waitsEnd()
            try await bench.minutePasses()
            let now = try #require(try await bench.control("clock"))
            _ = try await bench.call(RedisCommand("HSET", bench.keys.base + "ctl", "block_until", now))
            let reply = try await bench.claim(bench.call("w1", held: 0))
            #expect(reply.claims.isEmpty && reply.probeMs > 0)
            #expect(try await bench.claim(bench.call("w2", held: 1)).isProbe)
            #expect(held.job == "healthy")
            try await bench.minutePasses()
            let late = try await bench.claim(bench.call("w1", held: 0))
            #expect(late.claims.map(\.isProbe) == [true], "ten seconds late, a refused one is")
        }
    }

    /// A worker ends recipients whose time is over, and gives the others back.
    @Test func refusedRecipientsThatAreDuePassThroughAWorkerWhileTheProjectIsBlocked() async throws {
        try await withBench { bench in
            try await bench.block()
            #expect(try await bench.claim(bench.call("w1", held: 0)).claims.isEmpty)
            try await bench.waitsEnd()
            let claim = try #require(try await bench.claim(bench.call("w1", held: 0)).claims.first)
            #expect(!claim.isProbe && claim.pass == .retry && claim.recipients.map(\.history.refusals) == [1])
        }
    }

    @Test func jobOfARefusedRecipientExpiresWhileTheProjectIsBlocked() async throws {
        try await withBench { bench in
            try await bench.accept()
            try await bench.intake("j", tokens(1)) { $0.expiresAt = 4_000_000_000_000 }
            let claim = try #require(try await bench.claim("w1").claims.first)
            #expect(try await bench.record(bench.refusal(claim, [1, 2, 3, 4, 5]), "w1") == .ok())
            #expect(try await bench.job("j")["state"] == "paused")
            _ = try await bench.call(RedisCommand("ZADD", bench.keys.base + "expiring", "1", "j"))
            let ending = try #require(try await bench.claim(bench.call("w1", held: 1)).claims.first)
            #expect(ending.job == "j" && ending.ending == "expired")
            try await bench.finish(ending, "w1", status: .expired)
            #expect(try await bench.job("j")["state"] == "expired")
        }
    }

    @Test func broadcastThatWasRefusedIsTheProbeWhenNoOtherIsLeft() async throws {
        try await withBench { bench in
            try await bench.intake("topic", .topic("news"))
            let claim = try #require(try await bench.claim("w1").claims.first)
            #expect(try await bench.record(bench.refusal(claim, [1]), "w1") == .ok())
            #expect(try await bench.control("block") == LibraryBench.denied)
            try await bench.waitsEnd()
            try await bench.minutePasses()
            for _ in 0..<3 {
                guard let probe = try await bench.claim(bench.call("w1", held: 0)).claims.first else { continue }
                #expect(probe.isProbe && probe.job == "topic")
                return
            }
            Issue.record("the topic was not probed")
        }
    }

    @Test func blockEndsWhenNoSendIsLeft() async throws {
        try await withBench { bench in
            try await bench.refuse(job: "j", 1)
            try await bench.waitsEnd()
            try await bench.minutePasses()
            let probe = try #require(try await bench.claim(bench.call("w1", held: 0)).claims.first)
            try await bench.finish(probe, "w1", status: .failed)
            try await bench.minutePasses()
            #expect(try await bench.claim(bench.call("w1", held: 0)).probeMs == 0)
            #expect(try await bench.control("block") == nil)
        }
    }

    /// An older worker reports a block for one recipient, and claims the probe alone.
    @Test func olderWorkerBlocksAndProbesAsBefore() async throws {
        try await withBench { bench in
            try await bench.intake("j", tokens(1))
            let claim = try #require(try await bench.claim("w1").claims.first)
            var record = bench.flush(claim)
            record.retries = [.init(index: 0, dueMs: 1, parked: true, packed: "0|0|0|t0")]
            record.blockReason = LibraryBench.denied
            #expect(try await bench.record(record, "w1") == .ok())
            try await bench.intake("healthy", tokens(1))
            #expect(try await bench.claim(bench.call("w1", held: nil)).claims.isEmpty)
            try await bench.minutePasses()
            try await bench.waitsEnd()
            #expect(try await bench.claim(bench.call("w1", held: nil)).claims.map(\.isProbe) == [true])
        }
    }

    // MARK: Another job

    /// FCM refuses the first five recipients of a fan-out, whose other batches are not claimed yet.
    private func blockByFanout(_ bench: LibraryBench, window: Int = 1_000) async throws -> Claim {
        try await bench.accept()
        try await bench.intake("fanout", tokens(3_000))
        let claim = try #require(try await bench.claim("w1", most: 1, window: window).claims.first)
        var record = bench.refusal(claim, [1, 2, 3, 4, 5])
        record.retries.removeLast(record.retries.count - 5)
        record.finish = false
        #expect(try await bench.record(record, "w1") == .ok())
        #expect(try await bench.control("block") == LibraryBench.denied)
        return claim
    }

    @Test func firstProbeOfABlockGoesAtOnceToAnotherJob() async throws {
        try await withBench { bench in
            _ = try await blockByFanout(bench)
            let reply = try await bench.claim(bench.call("w1", held: 995, others: 0))
            #expect(reply.claims.map(\.batch) == ["1"] && reply.isProbe && reply.probeMs > 0, "one of its own, and")
            #expect(reply.news == [.refused(job: "fanout")])
            let next = try await bench.claim(bench.call("w1", held: 1_995, others: 0))
            #expect(next.claims.isEmpty && !next.isProbe && next.probeMs > 0, "then its own recipients wait a minute")
            try await bench.intake("healthy", tokens(1))
            let claim = try #require(try await bench.claim(bench.call("w1", held: 995, others: 0)).claims.first)
            #expect(claim.job == "healthy" && claim.isProbe)
            #expect(try await bench.claim(bench.call("w1", held: 996, others: 1)).isProbe == false)
        }
    }

    @Test func jobThatFCMRefusedIsProbedWhenThereIsNoOther() async throws {
        try await withBench { bench in
            _ = try await blockByFanout(bench)
            try await bench.minutePasses()
            let probe = try await bench.claim(bench.call("w1", held: 995, others: 0))
            #expect(probe.isProbe && probe.claims.map(\.batch) == ["1"], "its recipients may be others")
            try await bench.minutePasses()
            let claim = try #require(try await bench.claim(bench.call("w2", held: 0)).claims.first)
            #expect(claim.job == "fanout" && claim.batch == "2", "a worker with nothing at hand takes of it")
        }
    }

    @Test func dueRecipientOfAnotherJobIsTheProbeBeforeARefusedJob() async throws {
        try await withBench { bench in
            try await bench.intake("slow", tokens(1))
            try await bench.retry(0, of: try #require(try await bench.claim("w1").claims.first), "w1", finish: true)
            _ = try await bench.call(RedisCommand("ZADD", bench.keys.base + "retry", "4000000000000", "slow/0"))
            _ = try await blockByFanout(bench)
            _ = try await bench.call(RedisCommand("ZADD", bench.keys.base + "retry", "2", "slow/0"))
            try await bench.minutePasses()
            let reply = try await bench.claim(bench.call("w1", held: 995, others: 0))
            #expect(reply.claims.map(\.job) == ["slow"] && reply.claims[0].isProbe && !reply.isProbe)
        }
    }

    @Test func refusedFanoutOfABlockedProjectGivesItsSlotToAnother() async throws {
        try await withBench { bench in
            _ = try await blockByFanout(bench)
            try await bench.intake("second", tokens(3_000))
            let claim = try #require(try await bench.claim(bench.call("w1", held: 995, others: 0)).claims.first)
            #expect(claim.job == "second" && !claim.isProbe)
            #expect(try await bench.active() == ["second"])
            var record = bench.flush(claim)
            record.finish = false
            record.results = ResultBuffer([bench.sent(0)])
            record.projectAnswers = true
            #expect(try await bench.record(record, "w1") == .ok())
            #expect(try await bench.control("block") == nil)
            #expect(try await bench.job("fanout")["state"] != "paused")
            _ = try await bench.claim("w2")
            #expect(try await bench.active() == ["second"], "the slot stays where it is")
        }
    }

    /// A batch without a holder is claimed from its place among batches of refused jobs.
    @Test func orphanOfAnotherJobIsTakenBeforeThatOfARefusedJob() async throws {
        try await withBench { bench in
            try await bench.accept()
            try await bench.register("w3")
            try await bench.intake("first", tokens(1_000))
            try await bench.intake("second", tokens(1_000))
            let claims = try await bench.claim("w3").claims
            #expect(claims.map(\.job) == ["first", "second"])
            var record = bench.refusal(claims[0], [1, 2, 3, 4, 5])
            record.retries.removeLast(995)
            record.finish = false
            #expect(try await bench.record(record, "w3") == .ok())
            try await bench.declareDead("w3")
            let taken = try await bench.claim(bench.call("w1", held: 0)).claims
            #expect(taken.map(\.job) == ["second"])
        }
    }

    @Test func refusedRecipientsPassThroughAWorkerThatHoldsOthers() async throws {
        try await withBench { bench in
            try await bench.block()
            _ = try await bench.claim(bench.call("w1", held: 3))
            try await bench.waitsEnd()
            let claim = try #require(try await bench.claim(bench.call("w1", held: 3)).claims.first)
            #expect(!claim.isProbe && claim.recipients.map(\.history.refusals) == [1])
            #expect(try await bench.claim(bench.call("w2", held: 1_000)).claims.isEmpty, "its hands are full")
        }
    }

    /// A worker that does not know of the block says nothing of what it holds.
    @Test func claimOfAWorkerThatDoesNotKnowTheBlockDoesNotEndIt() async throws {
        try await withBench { bench in
            _ = try await blockByFanout(bench)
            try await bench.minutePasses()
            var call = bench.call("w2", held: nil)
            call.quarantine = ClaimCall.Quarantine.none
            #expect(try await bench.claim(call).probeMs > 0)
            #expect(try await bench.control("block") == LibraryBench.denied)
        }
    }

    @Test func jobWhoseRefusedRecipientsLapsedIsNoOtherJob() async throws {
        try await withBench { bench in
            try await bench.accept()
            try await bench.intake("otp", tokens(1_000))
            let claim = try #require(try await bench.claim("w1").claims.first)
            var record = bench.refusal(claim, [1, 2, 3, 4, 5])
            record.retries = []
            record.finish = false
            record.results = ResultBuffer((0..<5).map { OneResult(index: $0, status: .expired, object: "") })
            #expect(try await bench.record(record, "w1") == .ok())
            let job = try await bench.job("otp")
            #expect(job["state"] == "paused" && job["reason"] == LibraryBench.denied)
            #expect(try await bench.claim(bench.call("w1", held: 995, others: 0)).news == [.refused(job: "otp")])
        }
    }

    /// A job that came before the block is more likely to be like the refused ones.
    @Test func probeIsOfTheJobThatCameLast() async throws {
        try await withBench { bench in
            try await bench.block()
            for job in ["old", "new"] { try await bench.intake(job, tokens(2)) }
            let first = try await bench.claim(bench.call("w1", held: 5, others: 5))
            #expect(first.claims.map(\.job) == ["new"] && first.claims[0].isProbe && !first.isProbe)
            #expect(try await bench.claim(bench.call("w1", held: 6, others: 6)).claims.isEmpty, "one a minute")
            try await bench.minutePasses()
            let second = try await bench.claim(bench.call("w1", held: 6, others: 6))
            #expect(second.claims.map(\.job) == ["old"] && second.claims[0].isProbe)
            try await bench.minutePasses()
            #expect(try await bench.claim(bench.call("w1", held: 7, others: 7)).isProbe, "then one at hand")
        }
    }
}
