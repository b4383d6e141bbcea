import FanfareModel
import RedisTransport
import StreamWire
import TestSupport
import Testing

/// Refusals of the project or of one recipient: what Redis concludes from them, and what ends it.
@Suite struct RefusalTests {
    // MARK: Evidence

    @Test func fiveDifferentRecipientsInARowBlockTheProject() async throws {
        try await withBench { bench in
            try await bench.accept()
            for index in 1...4 { try await bench.refuse(job: "j\(index)", UInt64(index)) }
            try await bench.refuse(job: "again", 2)
            let doubted = try await bench.claim(bench.call("w2", held: nil))
            #expect(doubted.probeMs == 0 && doubted.doubted == [1, 2, 3, 4], "equal recipients are one")
            let waiting = try await bench.job("j1")
            #expect(waiting["reason"] == "refused: \(LibraryBench.denied)" && waiting["state"] != "paused")
            #expect(waiting["retrying"] == "1")
            try await bench.refuse(job: "j5", 5)
            let blocked = try await bench.claim(bench.call("w2", held: nil))
            #expect(blocked.probeMs > 0 && blocked.blockReason == LibraryBench.denied)
            for index in 1...5 {
                let job = try await bench.job("j\(index)")
                #expect(job["state"] == "paused" && job["reason"] == LibraryBench.denied, "j\(index)")
            }
        }
    }

    @Test func acceptedSendClearsTheEvidence() async throws {
        try await withBench { bench in
            try await bench.accept()
            for index in 1...4 { try await bench.refuse(job: "j\(index)", UInt64(index)) }
            try await bench.accept(job: "again", inDoubt: true)
            #expect(try await bench.claim(bench.call("w2", held: nil)).doubted.isEmpty)
            for index in 5...8 { try await bench.refuse(job: "j\(index)", UInt64(index)) }
            #expect(try await bench.claim(bench.call("w2", held: nil)).probeMs == 0)
        }
    }

    /// Evidence of a flush with an accepted send came after it.
    @Test func evidenceOfAFlushCountsFromItsLastAcceptedSend() async throws {
        try await withBench { bench in
            try await bench.accept()
            for index in 1...4 { try await bench.refuse(job: "j\(index)", UInt64(index)) }
            try await bench.intake("many", tokens(5))
            let claim = try #require(try await bench.claim("w1").claims.first)
            var record = bench.refusal(claim, [11, 12])
            record.retries.removeFirst()
            record.results = ResultBuffer([bench.sent(0)])
            record.projectAnswers = true
            #expect(try await bench.record(record, "w1") == .ok())
            #expect(try await bench.control("block") == nil)
            #expect(try await bench.control("doubted") == "b/many c/many")
        }
    }

    @Test func firstRefusalBlocksWhenItsCredentialWasNeverAccepted() async throws {
        try await withBench { bench in
            try await bench.refuse(job: "cold", 1)
            #expect(try await bench.control("block") == LibraryBench.denied)
            try await bench.minutePasses()
            try await bench.intake("other", tokens(1))
            let claim = try #require(try await bench.claim(bench.call("w1", held: 0)).claims.first)
            #expect(claim.job == "other" && claim.isProbe)
            var record = bench.flush(claim)
            record.results = ResultBuffer([bench.sent(0)])
            record.acceptedCredential = 7
            record.projectAnswers = true
            #expect(try await bench.record(record, "w1") == .ok())
            #expect(try await bench.claim(bench.call("w1", held: nil)).probeMs == 0, "an accepted send ends the block")
            #expect(try await bench.job("cold")["state"] != "paused")
            try await bench.refuse(job: "warm", 2)
            #expect(try await bench.control("block") == nil)
            try await bench.refuse(job: "renewed", 3, credential: 8)
            #expect(try await bench.control("block") == LibraryBench.denied, "another credential was never accepted")
        }
    }

    @Test func fourCredentialsAreRememberedAsAccepted() async throws {
        try await withBench { bench in
            for (number, credential) in [1, 2, 3, 2, 4, 5].enumerated() {
                try await bench.accept(job: "j\(number)", credential: UInt64(credential))
            }
            #expect(try await bench.control("proven") == "2 3 4 5")
        }
    }

    @Test func repeatedFlushIsEvidenceOnce() async throws {
        try await withBench { bench in
            try await bench.accept()
            for index in 1...3 { try await bench.refuse(job: "j\(index)", UInt64(index)) }
            try await bench.intake("j", tokens(3))
            let claim = try #require(try await bench.claim("w1").claims.first)
            var record = bench.refusal(claim, [4])
            record.finish = false
            #expect(try await bench.record(record, "w1") == .ok())
            record.refused = [5]
            #expect(try await bench.record(record, "w1") == .ok())
            #expect(try await bench.control("block") == nil)
        }
    }

    /// The recipient's lifetime ended with its refusal, which leaves nothing that waits.
    @Test func refusalOfALapsedRecipientIsEvidence() async throws {
        try await withBench { bench in
            try await bench.intake("otp", tokens(1))
            let claim = try #require(try await bench.claim("w1").claims.first)
            var record = bench.refusal(claim, [1])
            record.retries = []
            record.results = ResultBuffer([OneResult(index: 0, status: .expired, object: "")])
            #expect(try await bench.record(record, "w1") == .ok())
            #expect(try await bench.control("block") == LibraryBench.denied)
            let job = try await bench.job("otp")
            #expect(job["state"] == "expired" && job["reason"] == nil)
        }
    }

    @Test func reasonOfARefusalLeavesTheJobWithItsLastRefusedRecipient() async throws {
        try await withBench { bench in
            try await bench.accept()
            try await bench.intake("j", tokens(3))
            let claim = try #require(try await bench.claim("w1").claims.first)
            var record = bench.refusal(claim, [1])
            record.retries = [record.retries[1]]
            record.finish = false
            #expect(try await bench.record(record, "w1") == .ok())
            #expect(try await bench.job("j")["reason"]?.hasPrefix("refused: ") == true)
            try await bench.waitsEnd()
            let retry = try #require(try await bench.claim("w2").claims.first)
            #expect(retry.recipients.map(\.history.refusals) == [1])
            try await bench.finish(retry, "w2")
            let job = try await bench.job("j")
            #expect(job["reason"] == nil && job["retrying"] == "0" && job["sent"] == "1")
        }
    }

    /// A library that knows no refusals reads what this one wrote.
    @Test func refusedRecipientIsSentByTheEarlierLibrary() async throws {
        try await withBench { bench in
            try await bench.accept()
            try await bench.refuse(job: "j", 1)
            try await bench.waitsEnd()
            _ = try await bench.client.send(RedisCommand("FUNCTION", "LOAD", try LibraryVersion.one.source()))
            let old = bench.with(.one)
            let claim = try #require(try await old.claim("w2").claims.first)
            #expect(claim.recipients.map(\.value) == ["t0"] && claim.recipients.map(\.history.attempts) == [1])
            try await old.finish(claim, "w2")
            #expect(try await bench.job("j")["state"] == "done")
        }
    }
}
