import FanfareModel
import RedisTransport
import StreamWire
import TestSupport
import Testing

/// Refusals of the project or of one recipient: what Redis concludes from them, and what ends it.
@Suite struct RefusalTests {
    private static let denied = "HTTP 403 PERMISSION_DENIED: no permission"

    private func call(_ worker: String, held: Int?, most: Int = 1) -> ClaimCall {
        var call = ClaimCall(
            worker: worker,
            most: most,
            wanted: 1_000,
            wantedSingle: 1_000,
            window: 1_000,
            retries: 1_000,
            quotaPerMinute: 600_000
        )
        call.held = held
        return call
    }

    private func control(_ field: String, _ bench: LibraryBench) async throws -> String? {
        try await bench.call(RedisCommand("HGET", bench.keys.base + "ctl", field)).string
    }

    /// The next probe is due.
    private func minutePasses(_ bench: LibraryBench) async throws {
        _ = try await bench.call(RedisCommand("HSET", bench.keys.base + "ctl", "block_until", "1"))
    }

    /// Every waiting recipient is due.
    private func waitsEnd(_ bench: LibraryBench) async throws {
        for set in ["again", "retry", "retry_many"] {
            for member in try await bench.words(RedisCommand("ZRANGE", bench.keys.base + set, "0", "-1")) {
                _ = try await bench.call(RedisCommand("ZADD", bench.keys.base + set, "1", member))
            }
        }
    }

    private func flush(_ claim: Claim, number: Int = 1) -> RecordCall {
        var record = RecordCall(job: claim.job, batch: claim.batch, epoch: claim.epoch)
        record.number = number
        record.finish = true
        return record
    }

    /// FCM refuses every recipient of a claim, and these hashes are the evidence.
    private func refusal(_ claim: Claim, _ hashes: [UInt64], credential: UInt64 = 7) -> RecordCall {
        var record = flush(claim)
        let history = RecipientHistory(attempts: 1, firstAttemptMs: 1, refusals: 1)
        record.retries = claim.recipients.map {
            .init(index: $0.index, dueMs: 4_000_000_000_000, parked: false, packed: history.packed(with: $0.value))
        }
        record.refusal = Self.denied
        record.refused = hashes
        record.refusedCredential = credential
        return record
    }

    private func refuse(job id: String, _ hash: UInt64, credential: UInt64 = 7, _ bench: LibraryBench) async throws {
        try await bench.intake(id, tokens(1))
        let claim = try #require(try await bench.claim("w1").claims.first { $0.job == id })
        #expect(try await bench.record(refusal(claim, [hash], credential: credential), "w1") == .ok())
    }

    /// A send with the credential is accepted, which a worker says once.
    private func accept(
        _ bench: LibraryBench,
        job id: String = "accepted",
        credential: UInt64 = 7,
        inDoubt: Bool = false
    ) async throws {
        try await bench.intake(id, tokens(1))
        let claim = try #require(try await bench.claim("w1").claims.first { $0.job == id })
        var record = flush(claim)
        record.results = ResultBuffer([bench.sent(0)])
        record.acceptedCredential = credential
        record.projectAnswers = inDoubt
        #expect(try await bench.record(record, "w1") == .ok())
    }

    // MARK: Evidence

    @Test func fiveDifferentRecipientsInARowBlockTheProject() async throws {
        try await withBench { bench in
            try await accept(bench)
            for index in 1...4 { try await refuse(job: "j\(index)", UInt64(index), bench) }
            try await refuse(job: "again", 2, bench)
            let doubted = try await bench.claim(call("w2", held: nil))
            #expect(doubted.probeMs == 0 && doubted.isProjectDoubted, "equal recipients are one")
            let waiting = try await bench.job("j1")
            #expect(waiting["reason"] == "refused: \(Self.denied)" && waiting["state"] != "paused")
            #expect(waiting["retrying"] == "1")
            try await refuse(job: "j5", 5, bench)
            let blocked = try await bench.claim(call("w2", held: nil))
            #expect(blocked.probeMs > 0 && blocked.blockReason == Self.denied)
            for index in 1...5 {
                let job = try await bench.job("j\(index)")
                #expect(job["state"] == "paused" && job["reason"] == Self.denied, "j\(index)")
            }
        }
    }

    @Test func acceptedSendClearsTheEvidence() async throws {
        try await withBench { bench in
            try await accept(bench)
            for index in 1...4 { try await refuse(job: "j\(index)", UInt64(index), bench) }
            try await accept(bench, job: "again", inDoubt: true)
            #expect(try await bench.claim(call("w2", held: nil)).isProjectDoubted == false)
            for index in 5...8 { try await refuse(job: "j\(index)", UInt64(index), bench) }
            #expect(try await bench.claim(call("w2", held: nil)).probeMs == 0)
        }
    }

    /// Evidence of a flush with an accepted send came after it.
    @Test func evidenceOfAFlushCountsFromItsLastAcceptedSend() async throws {
        try await withBench { bench in
            try await accept(bench)
            for index in 1...4 { try await refuse(job: "j\(index)", UInt64(index), bench) }
            try await bench.intake("many", tokens(5))
            let claim = try #require(try await bench.claim("w1").claims.first)
            var record = refusal(claim, [11, 12])
            record.retries.removeFirst()
            record.results = ResultBuffer([bench.sent(0)])
            record.projectAnswers = true
            #expect(try await bench.record(record, "w1") == .ok())
            #expect(try await control("block", bench) == nil)
            #expect(try await control("doubted", bench) == "b/many c/many")
        }
    }

    @Test func firstRefusalBlocksWhenItsCredentialWasNeverAccepted() async throws {
        try await withBench { bench in
            try await refuse(job: "cold", 1, bench)
            #expect(try await control("block", bench) == Self.denied)
            try await minutePasses(bench)
            try await bench.intake("other", tokens(1))
            let claim = try #require(try await bench.claim(call("w1", held: 0)).claims.first)
            #expect(claim.job == "other" && !claim.isProbe)
            var record = flush(claim)
            record.results = ResultBuffer([bench.sent(0)])
            record.acceptedCredential = 7
            record.projectAnswers = true
            #expect(try await bench.record(record, "w1") == .ok())
            #expect(try await bench.claim(call("w1", held: nil)).probeMs == 0, "an accepted send ends the block")
            #expect(try await bench.job("cold")["state"] != "paused")
            try await refuse(job: "warm", 2, bench)
            #expect(try await control("block", bench) == nil)
            try await refuse(job: "renewed", 3, credential: 8, bench)
            #expect(try await control("block", bench) == Self.denied, "another credential was never accepted")
        }
    }

    @Test func fourCredentialsAreRememberedAsAccepted() async throws {
        try await withBench { bench in
            for (number, credential) in [1, 2, 3, 2, 4, 5].enumerated() {
                try await accept(bench, job: "j\(number)", credential: UInt64(credential))
            }
            #expect(try await control("proven", bench) == "2 3 4 5")
        }
    }

    @Test func repeatedFlushIsEvidenceOnce() async throws {
        try await withBench { bench in
            try await accept(bench)
            for index in 1...3 { try await refuse(job: "j\(index)", UInt64(index), bench) }
            try await bench.intake("j", tokens(3))
            let claim = try #require(try await bench.claim("w1").claims.first)
            var record = refusal(claim, [4])
            record.finish = false
            #expect(try await bench.record(record, "w1") == .ok())
            record.refused = [5]
            #expect(try await bench.record(record, "w1") == .ok())
            #expect(try await control("block", bench) == nil)
        }
    }

    /// The recipient's lifetime ended with its refusal, which leaves nothing that waits.
    @Test func refusalOfALapsedRecipientIsEvidence() async throws {
        try await withBench { bench in
            try await bench.intake("otp", tokens(1))
            let claim = try #require(try await bench.claim("w1").claims.first)
            var record = refusal(claim, [1])
            record.retries = []
            record.results = ResultBuffer([OneResult(index: 0, status: .expired, object: "")])
            #expect(try await bench.record(record, "w1") == .ok())
            #expect(try await control("block", bench) == Self.denied)
            let job = try await bench.job("otp")
            #expect(job["state"] == "expired" && job["reason"] == nil)
        }
    }

    @Test func reasonOfARefusalLeavesTheJobWithItsLastRefusedRecipient() async throws {
        try await withBench { bench in
            try await accept(bench)
            try await bench.intake("j", tokens(3))
            let claim = try #require(try await bench.claim("w1").claims.first)
            var record = refusal(claim, [1])
            record.retries = [record.retries[1]]
            record.finish = false
            #expect(try await bench.record(record, "w1") == .ok())
            #expect(try await bench.job("j")["reason"]?.hasPrefix("refused: ") == true)
            try await waitsEnd(bench)
            let retry = try #require(try await bench.claim("w2").claims.first)
            #expect(retry.recipients.map(\.history.refusals) == [1])
            try await bench.finish(retry, "w2")
            let job = try await bench.job("j")
            #expect(job["reason"] == nil && job["retrying"] == "0" && job["sent"] == "1")
        }
    }

    // MARK: The probe

    /// Four refused recipients wait, and the fifth has just blocked the project.
    private func block(_ bench: LibraryBench) async throws {
        try await accept(bench)
        for index in 1...5 { try await refuse(job: "refused\(index)", UInt64(index), bench) }
        #expect(try await control("block", bench) == Self.denied)
    }

    @Test func workerWithoutARecipientGetsOneThatWasNotRefused() async throws {
        try await withBench { bench in
            try await block(bench)
            try await waitsEnd(bench)
            try await bench.intake("healthy", tokens(3))
            let reply = try await bench.claim(call("w1", held: 0))
            #expect(reply.claims.map(\.job) == ["healthy"] && !reply.isProbe && reply.claims[0].isProbe == false)
            #expect(try await bench.claim(call("w2", held: 3)).claims.isEmpty, "one batch at hand is enough")
        }
    }

    @Test func oneWorkerAMinuteMaySendARecipientAtHand() async throws {
        try await withBench { bench in
            try await block(bench)
            #expect(try await bench.claim(call("w1", held: 1)).isProbe == false, "the minute is not over")
            try await minutePasses(bench)
            let reply = try await bench.claim(call("w1", held: 1))
            #expect(reply.isProbe && reply.claims.isEmpty && reply.probeMs == 60_000)
            #expect(try await bench.claim(call("w2", held: 1)).isProbe == false)
        }
    }

    @Test func refusedRecipientsAreTheProbeInTurnWhenNoOtherIsLeft() async throws {
        try await withBench { bench in
            try await block(bench)
            var probed: [String] = []
            for _ in 0..<2 {
                try await minutePasses(bench)
                if probed.isEmpty { try await waitsEnd(bench) }
                let claim = try #require(try await bench.claim(call("w1", held: 0)).claims.first)
                #expect(claim.isProbe && claim.recipients.count == 1)
                probed.append(claim.job)
                var record = refusal(claim, [9])
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
            try await block(bench)
            try await waitsEnd(bench)
            _ = try await bench.call(RedisCommand("ZADD", bench.keys.base + "retry", "2", "slow/0"))
            try await minutePasses(bench)
            let claim = try #require(try await bench.claim(call("w1", held: 0)).claims.first)
            #expect(claim.isProbe && claim.job == "slow")
        }
    }

    @Test func refusedRecipientIsNoProbeWhileAnotherWorkerHoldsOthers() async throws {
        try await withBench { bench in
            try await bench.intake("healthy", tokens(1))
            let held = try #require(try await bench.claim("w2").claims.first)
            try await block(bench)
            try await waitsEnd(bench)
            try await minutePasses(bench)
            let now = try #require(try await control("clock", bench))
            _ = try await bench.call(RedisCommand("HSET", bench.keys.base + "ctl", "block_until", now))
            let reply = try await bench.claim(call("w1", held: 0))
            #expect(reply.claims.isEmpty && reply.probeMs > 0)
            #expect(try await bench.claim(call("w2", held: 1)).isProbe)
            #expect(held.job == "healthy")
            try await minutePasses(bench)
            let late = try await bench.claim(call("w1", held: 0))
            #expect(late.claims.map(\.isProbe) == [true], "ten seconds late, a refused one is")
        }
    }

    /// A worker ends those whose time is over, and gives the others back.
    @Test func refusedRecipientsThatAreDuePassThroughAWorkerWhileTheProjectIsBlocked() async throws {
        try await withBench { bench in
            try await block(bench)
            #expect(try await bench.claim(call("w1", held: 0)).claims.isEmpty)
            try await waitsEnd(bench)
            let claim = try #require(try await bench.claim(call("w1", held: 0)).claims.first)
            #expect(!claim.isProbe && claim.pass == .retry && claim.recipients.map(\.history.refusals) == [1])
        }
    }

    @Test func jobOfARefusedRecipientExpiresWhileTheProjectIsBlocked() async throws {
        try await withBench { bench in
            try await accept(bench)
            try await bench.intake("j", tokens(1)) { $0.expiresAt = 4_000_000_000_000 }
            let claim = try #require(try await bench.claim("w1").claims.first)
            #expect(try await bench.record(refusal(claim, [1, 2, 3, 4, 5]), "w1") == .ok())
            #expect(try await bench.job("j")["state"] == "paused")
            _ = try await bench.call(RedisCommand("ZADD", bench.keys.base + "expiring", "1", "j"))
            let ending = try #require(try await bench.claim(call("w1", held: 1)).claims.first)
            #expect(ending.job == "j" && ending.ending == "expired")
            try await bench.finish(ending, "w1", status: .expired)
            #expect(try await bench.job("j")["state"] == "expired")
        }
    }

    @Test func broadcastThatWasRefusedIsTheProbeWhenNoOtherIsLeft() async throws {
        try await withBench { bench in
            try await bench.intake("topic", .topic("news"))
            let claim = try #require(try await bench.claim("w1").claims.first)
            #expect(try await bench.record(refusal(claim, [1]), "w1") == .ok())
            #expect(try await control("block", bench) == Self.denied)
            try await waitsEnd(bench)
            try await minutePasses(bench)
            for _ in 0..<3 {
                guard let probe = try await bench.claim(call("w1", held: 0)).claims.first else { continue }
                #expect(probe.isProbe && probe.job == "topic")
                return
            }
            Issue.record("the topic was not probed")
        }
    }

    @Test func blockEndsWhenNoSendIsLeft() async throws {
        try await withBench { bench in
            try await refuse(job: "j", 1, bench)
            try await waitsEnd(bench)
            try await minutePasses(bench)
            let probe = try #require(try await bench.claim(call("w1", held: 0)).claims.first)
            try await bench.finish(probe, "w1", status: .failed)
            try await minutePasses(bench)
            #expect(try await bench.claim(call("w1", held: 0)).probeMs == 0)
            #expect(try await control("block", bench) == nil)
        }
    }

    /// An older worker reports a block for one recipient, and claims the probe alone.
    @Test func olderWorkerBlocksAndProbesAsBefore() async throws {
        try await withBench { bench in
            try await bench.intake("j", tokens(1))
            let claim = try #require(try await bench.claim("w1").claims.first)
            var record = flush(claim)
            record.retries = [.init(index: 0, dueMs: 1, parked: true, packed: "0|0|0|t0")]
            record.blockReason = Self.denied
            #expect(try await bench.record(record, "w1") == .ok())
            try await bench.intake("healthy", tokens(1))
            #expect(try await bench.claim(call("w1", held: nil)).claims.isEmpty)
            try await minutePasses(bench)
            try await waitsEnd(bench)
            #expect(try await bench.claim(call("w1", held: nil)).claims.map(\.isProbe) == [true])
        }
    }

    /// A library that knows no refusals reads what this one wrote.
    @Test func refusedRecipientIsSentByTheEarlierLibrary() async throws {
        try await withBench { bench in
            try await accept(bench)
            try await refuse(job: "j", 1, bench)
            try await waitsEnd(bench)
            _ = try await bench.client.send(RedisCommand("FUNCTION", "LOAD", try LibraryVersion.one.source()))
            let old = bench.with(.one)
            let claim = try #require(try await old.claim("w2").claims.first)
            #expect(claim.recipients.map(\.value) == ["t0"] && claim.recipients.map(\.history.attempts) == [1])
            try await old.finish(claim, "w2")
            #expect(try await bench.job("j")["state"] == "done")
        }
    }
}
