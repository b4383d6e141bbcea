import FanfareModel
import RedisTransport
import StreamWire
import TestSupport
import Testing

/// The function library in a real server, as two workers use it.
@Suite struct FunctionTests {
    private let keys = ProjectKeys(project: "p")

    @Test func entryIsHandedOverOnce() async throws {
        try await withBench { bench in
            let entry = try #require(try await bench.call(RedisCommand("XADD", keys.jobs, "*", "x", "1")).string)
            let job = Job(id: "j", hasOwnID: true, entryID: entry, target: .tokens(["a", "b"]), message: [0x7B, 0x7D])
            #expect(try await bench.intake(job, taker: nil) == .queued)
            #expect(try await bench.intake(job, taker: nil) == .gone)
            #expect(try await bench.job("j")["duplicates"] == "0")
            #expect(try await bench.call(RedisCommand("XLEN", keys.jobs)).integer == 0)
            #expect(try await bench.intake("j", .tokens(["a"])) == .duplicate)
            #expect(try await bench.job("j")["duplicates"] == "1")
        }
    }

    @Test func repeatedFlushCountsOnce() async throws {
        try await withBench { bench in
            try await bench.intake("j", .tokens(["a", "b", "c"]))
            let claim = try #require(try await bench.claim("w1").claims.first)
            var call = RecordCall(job: "j", batch: claim.batch, epoch: claim.epoch)
            call.results = ResultBuffer([bench.sent(0), bench.sent(1)])
            for _ in 0..<3 { #expect(try await bench.record(call, "w1") == .ok()) }
            #expect(try await bench.job("j")["sent"] == "2")
            call.results = ResultBuffer([bench.sent(2)])
            call.finish = true
            #expect(try await bench.record(call, "w1") == .ok())
            #expect(try await bench.record(call, "w1") == .gone)
            let job = try await bench.job("j")
            #expect(job["state"] == "done" && job["sent"] == "3")
            #expect(try await bench.call(RedisCommand("XLEN", keys.results)).integer == 2)
        }
    }

    @Test func takeOverSplitsRecipientsByTheWatermark() async throws {
        try await withBench { bench in
            try await bench.intake("j", .tokens((0..<6).map { "t\($0)" }))
            let first = try #require(try await bench.claim("w1", window: 3).claims.first)
            var call = RecordCall(job: "j", batch: first.batch, epoch: first.epoch)
            call.results = ResultBuffer([bench.sent(1)])
            call.watermark = 5
            #expect(try await bench.record(call, "w1") == .ok())
            try await bench.declareDead("w1")
            let second = try #require(try await bench.claim("w2").claims.first)
            #expect(second.deliveries == 2)
            #expect(
                second.recipients.map(\.progress) == [
                    .maybeSent, .settled, .maybeSent, .maybeSent, .maybeSent, .unsent,
                ]
            )
            // The old holder: its decisions are refused, its facts are taken, once.
            var zombie = RecordCall(job: "j", batch: first.batch, epoch: first.epoch)
            zombie.results = ResultBuffer([bench.sent(0)])
            zombie.retries = [.init(index: 2, dueMs: 0, parked: false, packed: "1|1|0|t2")]
            #expect(try await bench.record(zombie, "w1") == .stale)
            #expect(try await bench.job("j")["sent"] == "1")
            zombie.late = true
            zombie.retries = []
            #expect(try await bench.record(zombie, "w1") == .ok())
            #expect(try await bench.record(zombie, "w1") == .ok())
            #expect(try await bench.job("j")["sent"] == "2")
        }
    }

    @Test func epochsGrowEvenWhenTheCounterIsLost() async throws {
        try await withBench { bench in
            try await bench.intake("a", .tokens(["x"]))
            let one = try #require(try await bench.claim("w1").claims.first)
            _ = try await bench.call(RedisCommand("HDEL", keys.base + "ctl", "epoch"))
            try await bench.intake("b", .tokens(["x"]))
            let two = try #require(try await bench.claim("w1").claims.first)
            #expect(try #require(Int64(two.epoch)) >= (try #require(Int64(one.epoch))))
            #expect(try #require(Int64(one.epoch)) > 1_600_000_000_000)
        }
    }

    @Test func retryIsClaimedWhenDueAndAgainAfterACrash() async throws {
        try await withBench { bench in
            try await bench.intake("j", .tokens(["a", "b"]))
            let claim = try #require(try await bench.claim("w1").claims.first)
            var call = RecordCall(job: "j", batch: claim.batch, epoch: claim.epoch)
            call.results = ResultBuffer([bench.sent(0)])
            call.retries = [.init(index: 1, dueMs: 1, parked: false, packed: "1|77|1|b")]
            call.finish = true
            #expect(try await bench.record(call, "w1") == .ok())
            #expect(try await bench.job("j")["state"] == "retrying")
            #expect(try await bench.job("j")["retrying"] == "1")
            let retry = try #require(try await bench.claim("w1").claims.first)
            #expect(retry.pass == .retry)
            let history = RecipientHistory(attempts: 1, firstAttemptMs: 77, maybeDuplicate: true)
            #expect(retry.recipients == [ClaimedRecipient(index: 1, value: "b", history: history)])
            #expect(try await bench.claim("w2").claims.isEmpty)
            try await bench.declareDead("w1")
            let again = try #require(try await bench.claim("w2").claims.first)
            #expect(again.recipients.map(\.progress) == [.maybeSent] && again.recipients.map(\.value) == ["b"])
            var last = RecordCall(job: "j", batch: again.batch, epoch: again.epoch)
            last.results = ResultBuffer([bench.sent(1)])
            last.finish = true
            #expect(try await bench.record(last, "w2") == .ok())
            #expect(try await bench.job("j")["state"] == "done")
            #expect(try await bench.job("j")["retrying"] == "0")
        }
    }

    @Test func aBlockedProjectGivesOutOneProbeAMinute() async throws {
        try await withBench { bench in
            try await bench.intake("j", .tokens(["a", "b", "c"]))
            let claim = try #require(try await bench.claim("w1").claims.first)
            var call = RecordCall(job: "j", batch: claim.batch, epoch: claim.epoch)
            call.retries = (0..<3).map { .init(index: $0, dueMs: 1, parked: true, packed: "0|0|0|t") }
            call.blockReason = "HTTP 403: no permission"
            call.finish = true
            #expect(try await bench.record(call, "w1") == .ok())
            #expect(try await bench.job("j")["state"] == "paused")
            #expect(try await bench.job("j")["reason"] == "HTTP 403: no permission")
            try await bench.intake("k", .tokens(["d"]))
            let blocked = try await bench.claim("w2")
            #expect(
                blocked.claims.isEmpty && (1...60_000).contains(blocked.probeMs)
                    && blocked.blockReason == call.blockReason
            )
            // The minute is over.
            _ = try await bench.call(RedisCommand("HSET", keys.base + "ctl", "block_until", "1"))
            for index in 0..<3 {
                _ = try await bench.call(RedisCommand("ZADD", keys.base + "retry", "1", "j/\(index)"))
            }
            let probe = try await bench.claim("w2")
            #expect(probe.claims.count == 1 && probe.claims[0].recipients.count == 1 && probe.probeMs > 0)
            #expect(try await bench.claim("w1").claims.isEmpty, "one probe at a time")
            var answer = RecordCall(job: "j", batch: probe.claims[0].batch, epoch: probe.claims[0].epoch)
            answer.results = ResultBuffer([bench.sent(probe.claims[0].recipients[0].index)])
            answer.projectAnswers = true
            answer.finish = true
            #expect(try await bench.record(answer, "w2") == .ok())
            #expect(try await bench.job("j")["state"] == "retrying")
            #expect(try await bench.job("j")["reason"] == nil)
            let free = try await bench.claim("w1")
            #expect(free.probeMs == 0 && Set(free.claims.map(\.job)) == ["j", "k"])
        }
    }

    @Test func claimWithALostReplyGoesBackUnsent() async throws {
        try await withBench { bench in
            try await bench.intake("j", .tokens(["a", "b"]))
            _ = try await bench.claim("w1")
            #expect(try await bench.claim("w1").claims.isEmpty)
            let command = FunctionLibrary.reconcile(keys, worker: "w1", isSameServer: true, known: [])
            #expect(ReconcileReply(try await bench.call(command))?.freed == 1)
            let again = try #require(try await bench.claim("w2").claims.first)
            #expect(again.recipients.map(\.progress) == [.unsent, .unsent], "its worker never knew of it")
            let known = FunctionLibrary.reconcile(
                keys,
                worker: "w2",
                isSameServer: true,
                known: [.init(name: "j/0", call: 0, watermark: 0)]
            )
            #expect(ReconcileReply(try await bench.call(known))?.freed == 0)
        }
    }

    @Test func aBatchThatRedisForgotIsTakenWithTheWatermarkThatItsHolderKnows() async throws {
        try await withBench { bench in
            try await bench.intake("j", tokens(2_000))
            let claims = try await bench.claim("w1").claims
            // As after a failover: batch 0 stands before a call that was confirmed, batch 1 was never given out.
            _ = try await bench.call(RedisCommand("HSET", keys.base + "spec:j", "next", "1000"))
            _ = try await bench.call(RedisCommand("DEL", keys.base + "b:j/1"))
            _ = try await bench.call(RedisCommand("SREM", keys.base + "claims:w1", "j/1"))
            var late = RecordCall(job: "j", batch: "1", epoch: claims[1].epoch)
            late.results = ResultBuffer([bench.sent(1_000)])
            late.late = true
            #expect(try await bench.record(late, "w1") == .ok())
            let known: [FunctionLibrary.KnownBatch] = [
                .init(name: "j/0", call: 3, watermark: 300), .init(name: "j/1", call: 1, watermark: 200),
            ]
            let ask = FunctionLibrary.reconcile(keys, worker: "w1", isSameServer: false, known: known)
            #expect(ReconcileReply(try await bench.call(ask))?.lost == ["j/0", "j/1"])
            // The old holder decides nothing any more.
            var decision = RecordCall(job: "j", batch: "0", epoch: claims[0].epoch)
            decision.finish = true
            #expect(try await bench.record(decision, "w1") == .stale)
            let again = try await bench.claim("w2").claims
            #expect(again.map(\.batch) == ["0", "1"])
            func count(_ claim: Claim, _ progress: ClaimedRecipient.Progress) -> Int {
                claim.recipients.filter { $0.progress == progress }.count
            }
            #expect(count(again[0], .maybeSent) == 300)
            #expect(count(again[0], .unsent) == 700)
            #expect(count(again[1], .settled) == 1)
            #expect(count(again[1], .maybeSent) == 199)
            #expect(count(again[1], .unsent) == 800)
        }
    }

    /// Redis cannot tell a retry that it has closed from one that it has forgotten; its holder can.
    @Test func missingRetryBatchIsReportedLost() async throws {
        try await withBench { bench in
            try await bench.intake("j", .tokens(["a", "b"]))
            let first = try #require(try await bench.claim("w1").claims.first)
            try await bench.retry(0, of: first, "w1")
            let retry = try #require(try await bench.claim("w1").claims.first)
            try await bench.finish(retry, "w1")
            let known: [FunctionLibrary.KnownBatch] = [
                .init(name: first.name, call: 1, watermark: 2), .init(name: retry.name, call: 0, watermark: 1),
            ]
            let ask = FunctionLibrary.reconcile(keys, worker: "w1", isSameServer: true, known: known)
            #expect(ReconcileReply(try await bench.call(ask))?.lost == [retry.name])
        }
    }

    @Test func repeatedFlushReschedulesNoClaimedRetry() async throws {
        try await withBench { bench in
            try await bench.intake("j", .tokens(["a", "b"]))
            let claim = try #require(try await bench.claim("w1").claims.first)
            var call = RecordCall(job: "j", batch: claim.batch, epoch: claim.epoch)
            call.retries = [.init(index: 0, dueMs: 1, parked: false, packed: "1|1|0|a")]
            #expect(try await bench.record(call, "w1") == .ok())
            #expect(try await bench.claim("w2").claims.count == 1)
            #expect(try await bench.record(call, "w1") == .ok())
            #expect(try await bench.claim("w2").claims.isEmpty)
        }
    }

    @Test func takenOverRetrySkipsRescheduledRecipients() async throws {
        try await withBench { bench in
            try await bench.intake("j", .tokens(["a", "b"]))
            let first = try #require(try await bench.claim("w1").claims.first)
            var call = RecordCall(job: "j", batch: first.batch, epoch: first.epoch)
            call.retries = (0..<2).map { .init(index: $0, dueMs: 1, parked: false, packed: "1|1|0|t\($0)") }
            call.finish = true
            #expect(try await bench.record(call, "w1") == .ok())
            let retry = try #require(try await bench.claim("w1").claims.first)
            var again = RecordCall(job: "j", batch: retry.batch, epoch: retry.epoch)
            again.retries = [.init(index: 0, dueMs: 1, parked: false, packed: "2|1|0|t0")]
            #expect(try await bench.record(again, "w1") == .ok())
            #expect(try await bench.claim("w2").claims.first?.recipients.map(\.index) == [0])
            try await bench.declareDead("w1")
            let taken = try #require(try await bench.claim("w2").claims.first)
            #expect(taken.recipients.map(\.progress) == [.settled, .maybeSent])
        }
    }

    @Test func audienceOfAChangedTypeStopsNoOtherJob() async throws {
        try await withBench { bench in
            _ = try await bench.call(RedisCommand("RPUSH", "aud:{p}:l", "a"))
            try await bench.intake("bad", .audience(key: "aud:{p}:l"))
            try await bench.intake("good", .tokens(["x"]))
            _ = try await bench.call(RedisCommand("DEL", "aud:{p}:l"))
            _ = try await bench.call(RedisCommand("SADD", "aud:{p}:l", "a"))
            #expect(try await bench.claim("w1").claims.map(\.job) == ["good"])
            #expect(try await bench.job("bad")["state"] == "parked")
            let dead = try await bench.call(RedisCommand("XRANGE", keys.dead, "-", "+")).array ?? []
            #expect(dead.count == 1)
        }
    }

    @Test func anAudienceThatChangedParksTheJob() async throws {
        try await withBench { bench in
            for token in ["a", "b"] { _ = try await bench.call(RedisCommand("RPUSH", "aud:{p}:l", token)) }
            try await bench.intake("j", .audience(key: "aud:{p}:l"))
            _ = try await bench.call(RedisCommand("RPUSH", "aud:{p}:l", "c"))
            #expect(try await bench.claim("w1").claims.isEmpty)
            let job = try await bench.job("j")
            #expect(job["state"] == "parked" && job["reason"]?.hasPrefix("audience: ") == true)
            #expect(try await bench.call(RedisCommand("XLEN", keys.dead)).integer == 1)
            let news = try await bench.claim("w2").news
            #expect(news.contains(.parked(job: "j", reason: job["reason"] ?? "")), "each worker logs it")
        }
    }

    @Test func aSetIsCopiedInStepsAndStartsOverAfterARestart() async throws {
        try await withBench { bench in
            for start in stride(from: 0, to: 5_000, by: 1_000) {
                var add = RedisCommand("SADD", "aud:{p}:s")
                for index in start..<(start + 1_000) { add.append("t\(index)") }
                _ = try await bench.call(add)
            }
            try await bench.intake("j", .audience(key: "aud:{p}:s"))
            #expect(try await bench.claim("w1").claims.isEmpty, "nothing before the copy is whole")
            #expect(try await bench.claim("w1").copying == "j")
            func step(_ run: String) async throws -> String {
                CopyReply(try await bench.call(FunctionLibrary.copy(keys, job: "j", runID: run, step: 700)))?.rawValue
                    ?? ""
            }
            #expect(try await step("run-1") == "more")
            #expect(try await step("run-1") == "more")
            // Another run of the server: its cursors mean nothing.
            var word = "more"
            while word == "more" { word = try await step("run-2") }
            #expect(word == "complete")
            let claims = try await bench.claim("w1").claims
            #expect(claims.count == 5)
            #expect(Set(claims.flatMap { $0.recipients.map(\.value) }) == Set((0..<5_000).map { "t\($0)" }))
        }
    }

    @Test func unacknowledgedEntriesAreNotTrimmed() async throws {
        try await withBench { bench in
            var ids: [String] = []
            for number in 0..<4 {
                ids.append(
                    try #require(try await bench.call(RedisCommand("XADD", keys.results, "*", "n", "\(number)")).string)
                )
            }
            // Entries of this very millisecond, too.
            let trim = FunctionLibrary.trim(keys, stream: "results", keepMs: -1_000)
            _ = try await bench.call(RedisCommand("XGROUP", "CREATE", keys.results, "g", "0"))
            #expect(try await bench.call(trim).integer == 0)
            _ = try await bench.call(
                RedisCommand("XREADGROUP", "GROUP", "g", "c", "COUNT", "3", "STREAMS", keys.results, ">")
            )
            _ = try await bench.call(RedisCommand("XACK", keys.results, "g", ids[0]))
            #expect(try await bench.call(trim).integer == 1)
            #expect(try await bench.call(RedisCommand("XLEN", keys.results)).integer == 3)
        }
    }

    /// Redis came back with a state before an earlier call of the batch: the batch stays open for the missing recipients.
    @Test(arguments: [true, false]) func batchWithAMissingRecipientDoesNotClose(isRetry: Bool) async throws {
        try await withBench { bench in
            try await bench.intake("j", tokens(3))
            var claim = try #require(try await bench.claim("w1").claims.first)
            if isRetry {
                for index in 0..<3 { try await bench.retry(index, of: claim, "w1", finish: index == 2) }
                claim = try #require(try await bench.claim("w1").claims.first)
                #expect(claim.pass == .retry)
            }
            var call = RecordCall(job: claim.job, batch: claim.batch, epoch: claim.epoch)
            call.results = ResultBuffer([bench.sent(0), bench.sent(2)])
            call.number = 2
            call.finish = true
            #expect(try await bench.record(call, "w1") == .ok())
            let next = try #require(try await bench.claim("w2").claims.first)
            #expect(next.name == claim.name)
            #expect(next.recipients.map(\.progress) == [.settled, .maybeSent, .settled])
            var late = RecordCall(job: next.job, batch: next.batch, epoch: next.epoch)
            late.results = ResultBuffer([bench.sent(1)])
            late.finish = true
            #expect(try await bench.record(late, "w2") == .ok())
            let job = try await bench.job("j")
            #expect(job["state"] == "done" && job["sent"] == "3")
        }
    }
}
