import FanfareModel
import RedisTransport
import StreamWire
import TestSupport
import Testing

/// What operators and time do to jobs, in a real server.
@Suite struct ControlTests {
    @Test func cancelledJobEndsWithoutASend() async throws {
        try await withBench { bench in
            try await bench.intake("a", tokens(2_500))
            let held = try #require(try await bench.claim("w1", most: 1).claims.first)
            var call = RecordCall(job: "a", batch: "0", epoch: held.epoch)
            let history = RecipientHistory(attempts: 1, firstAttemptMs: 1, maybeDuplicate: true)
            call.results = ResultBuffer([bench.sent(0)])
            call.retries = [.init(index: 1, dueMs: 1, parked: false, packed: history.packed(with: "t1"))]
            #expect(try await bench.record(call, "w1") == .ok())
            let answer = try await bench.words(FunctionLibrary.cancel(bench.keys, job: "a"))
            #expect(answer == ["ok", "active"])
            let heard = try await bench.claim("w1", most: 0)
            #expect(heard.news == [.end(job: "a", status: "cancelled")])
            // The slot is free at once.
            try await bench.intake("b", tokens(1_001))
            var claims: [Claim] = []
            for _ in 0..<4 { claims += try await bench.claim("w2", most: 1, wanted: 1_000).claims }
            let ending = claims.filter { $0.job == "a" }
            #expect(ending.map(\.ending) == ["cancelled", "cancelled", "cancelled"])
            #expect(claims.contains { $0.job == "b" })
            #expect(ending.map(\.recipients.count).sorted() == [1, 500, 1_000])
            for claim in ending { try await bench.finish(claim, "w2", status: .cancelled) }
            var rest = RecordCall(job: "a", batch: "0", epoch: held.epoch)
            for index in 2..<1_000 { rest.results.append(index: index, status: .cancelled) }
            rest.finish = true
            rest.number = 2
            #expect(try await bench.record(rest, "w1") == .ok())
            let job = try await bench.job("a")
            #expect(job["state"] == "cancelled")
            #expect(job["sent"] == "1")
            #expect(job["cancelled"] == "2499")
            let again = try await bench.words(FunctionLibrary.cancel(bench.keys, job: "a"))
            #expect(again == ["over", "cancelled"])
        }
    }

    @Test func aPausedFanOutGivesTheSlotUpAndResumesWhereItWas() async throws {
        try await withBench { bench in
            try await bench.intake("a", tokens(2_000))
            try await bench.intake("b", tokens(1_001))
            let held = try #require(try await bench.claim("w1", most: 1).claims.first)
            let paused = try await bench.words(FunctionLibrary.pause(bench.keys, job: "a"))
            #expect(paused == ["ok", "paused"])
            let next = try await bench.claim("w2").claims
            #expect(next.map(\.job) == ["b", "b"])
            let release = FunctionLibrary.release(bench.keys, worker: "w1", batch: "a/0", epoch: held.epoch)
            let released = try await bench.call(release).integer
            let twice = try await bench.call(release).integer
            #expect(released == 1)
            #expect(twice == 0)
            let resumed = try await bench.words(FunctionLibrary.resume(bench.keys, job: "a"))
            #expect(resumed == ["ok", "waiting"])
            for claim in next { try await bench.finish(claim, "w2") }
            let claims = try await bench.claim("w2").claims
            #expect(claims.map(\.job) == ["a", "a"])
            #expect(Set(claims.map(\.batch)) == ["0", "1"])
        }
    }

    @Test func pausedJobHoldsItsRetriesApart() async throws {
        try await withBench { bench in
            try await bench.intake("a", tokens(3))
            let held = try #require(try await bench.claim("w1").claims.first)
            var call = RecordCall(job: "a", batch: held.batch, epoch: held.epoch)
            let history = RecipientHistory(attempts: 1, firstAttemptMs: 1, maybeDuplicate: false)
            call.retries = (0..<3).map {
                .init(index: $0, dueMs: 1, parked: false, packed: history.packed(with: "t\($0)"))
            }
            call.finish = true
            #expect(try await bench.record(call, "w1") == .ok())
            _ = try await bench.call(FunctionLibrary.pause(bench.keys, job: "a"))
            let none = try await bench.claim("w1")
            #expect(none.claims.isEmpty)
            // They do not stand in the others' way.
            let due = try await bench.call(RedisCommand("ZCARD", bench.keys.base + "retry")).integer
            #expect(due == 0)
            _ = try await bench.call(FunctionLibrary.resume(bench.keys, job: "a"))
            let back = try await bench.claim("w1").claims
            #expect(back.first?.recipients.count == 3)
        }
    }

    @Test func aJobThatExpiresWhileItWaitsEndsWithoutASend() async throws {
        try await withBench { bench in
            let nowMs = try await bench.claim("w1").nowMs
            try await bench.intake("first", tokens(1_001))
            _ = try await bench.claim("w1", most: 1)
            try await bench.intake("a", tokens(1_500)) { $0.expiresAt = nowMs + 150 }
            _ = try await bench.call(FunctionLibrary.pauseProject(bench.keys, reason: "x"))
            var reply = try await bench.claim("w2", most: 1)
            while reply.nowMs < nowMs + 150 { reply = try await bench.claim("w2", most: 1) }
            let more = try await bench.claim("w2", most: 1)
            let claims = reply.claims + more.claims
            #expect(claims.map(\.ending) == ["expired", "expired"])
            #expect(more.pauseReason == "x")
            for claim in claims { try await bench.finish(claim, "w2", status: .expired) }
            let job = try await bench.job("a")
            #expect(job["state"] == "expired")
            #expect(job["expired"] == "1500")
        }
    }

    @Test func anEndingJobIsNeverParked() async throws {
        try await withBench { bench in
            for index in 0..<3 { _ = try await bench.call(RedisCommand("SADD", "{p}:set", "t\(index)")) }
            try await bench.intake("s", .audience(key: "{p}:set"))
            _ = try await bench.call(FunctionLibrary.cancel(bench.keys, job: "s"))
            _ = try await bench.call(RedisCommand("DEL", "{p}:set"))
            _ = try await bench.call(FunctionLibrary.copy(bench.keys, job: "s", runID: "r", step: 100))
            let claim = try #require(try await bench.claim("w1").claims.first)
            #expect(claim.ending == "cancelled")
            #expect(claim.recipients.map(\.value) == ["", "", ""])
            try await bench.finish(claim, "w1", status: .cancelled)
            let job = try await bench.job("s")
            #expect(job["state"] == "cancelled")
            #expect(job["cancelled"] == "3")
        }
    }

    @Test func endingJobOfAChangedAudienceNamesItsRecipients() async throws {
        try await withBench { bench in
            for index in 0..<1_500 { _ = try await bench.call(RedisCommand("RPUSH", "{p}:list", "t\(index)")) }
            try await bench.intake("l", .audience(key: "{p}:list"))
            _ = try await bench.call(RedisCommand("RPOP", "{p}:list"))
            _ = try await bench.claim("w1")
            #expect(try await bench.job("l")["state"] == "parked")
            _ = try await bench.call(FunctionLibrary.cancel(bench.keys, job: "l"))
            let claims = try await bench.claim("w1").claims + bench.claim("w1").claims
            let names = claims.flatMap(\.recipients).map(\.value)
            #expect(names == (0..<1_499).map { "t\($0)" } + [""])
        }
    }

    @Test func evictionPolicyStopsTheProject() async throws {
        try await withBench { bench in
            try await bench.intake("j", tokens(1))
            _ = try await bench.call(RedisCommand("CONFIG", "SET", "maxmemory-policy", "allkeys-lru"))
            let pressed = try await bench.claim("w1")
            #expect(pressed.pressure == "eviction")
            #expect(pressed.claims.isEmpty)
        }
    }

    @Test func endingJobsGiveEightBatchesAClaimAndTakeNoRecipientsRoom() async throws {
        try await withBench { bench in
            try await bench.intake("a", tokens(9_500))
            try await bench.intake("small", tokens(2))
            for id in ["a", "small"] { _ = try await bench.call(FunctionLibrary.cancel(bench.keys, job: id)) }
            try await bench.intake("b", tokens(2_000))
            let first = try await bench.claim("w1", most: 64, wanted: 2_000)
            let ending = first.claims.filter { $0.ending != nil }
            #expect(ending.filter { $0.job == "a" }.map(\.batch) == (0..<7).map { "\($0)" })
            #expect(ending.filter { $0.job == "small" }.map(\.recipients.count) == [2])
            #expect(first.claims.filter { $0.job == "b" }.map(\.recipients.count) == [1_000, 1_000])
            let second = try await bench.claim("w1", most: 64, wanted: 2_000)
            let rest = second.claims.filter { $0.ending != nil }
            #expect(rest.map(\.batch) == ["7", "8", "9"])
            for claim in ending + rest { try await bench.finish(claim, "w1", status: .cancelled) }
            #expect(try await bench.job("a")["cancelled"] == "9500")
            #expect(try await bench.job("small")["state"] == "cancelled")
        }
    }

    @Test func batchesOfEndingJobsTakeNoRoomOfOthers() async throws {
        try await withBench { bench in
            try await bench.intake("a", tokens(9_500))
            _ = try await bench.call(FunctionLibrary.cancel(bench.keys, job: "a"))
            for id in ["b", "c", "d", "e"] { try await bench.intake(id, tokens(1)) }
            var call = bench.request("w1", most: 3)
            var claims = try await bench.claim(call).claims
            #expect(claims.filter { $0.job == "a" }.map(\.batch) == ["0", "1", "2"])
            #expect(claims.filter { $0.job != "a" }.map(\.job) == ["b", "c", "d"])
            call.endings = 0
            claims = try await bench.claim(call).claims
            #expect(claims.map(\.job) == ["e"])
            // Of a worker that has its hands full.
            (call.most, call.wanted, call.wantedSingle, call.endings) = (0, 0, 0, 5)
            claims = try await bench.claim(call).claims
            #expect(claims.map(\.ending) == Array(repeating: "cancelled", count: 5))
        }
    }

    /// Nothing of the batch was sent, so its next holder doubts nothing.
    @Test func recipientsOfAnEndingJobStayUnsentWhenTheirWorkerDies() async throws {
        try await withBench { bench in
            try await bench.intake("a", tokens(1_500))
            _ = try await bench.call(FunctionLibrary.cancel(bench.keys, job: "a"))
            #expect(try await bench.claim("w1").claims.map(\.watermark) == [0, 0])
            try await bench.declareDead("w1")
            let claims = try await bench.claim("w2").claims
            #expect(claims.map(\.deliveries) == [2, 2] && claims.map(\.recipients.count).reduce(0, +) == 1_500)
            #expect(claims.allSatisfy { $0.recipients.allSatisfy { $0.progress == .unsent } })
        }
    }

    @Test func cancelledJobEndsWhileItsProjectIsPaused() async throws {
        try await withBench { bench in
            try await bench.intake("a", tokens(3))
            _ = try await bench.claim("w1")
            try await bench.declareDead("w1")
            _ = try await bench.call(FunctionLibrary.pauseProject(bench.keys, reason: "x"))
            _ = try await bench.call(FunctionLibrary.cancel(bench.keys, job: "a"))
            let claims = try await bench.claim("w2").claims
            #expect(claims.map(\.ending) == ["cancelled"])
            try await bench.finish(try #require(claims.first), "w2", status: .cancelled)
            let job = try await bench.job("a")
            #expect(job["state"] == "cancelled")
            let left = try await bench.call(RedisCommand("KEYS", bench.keys.base + "b:*")).array
            #expect(left == [])
        }
    }

    @Test func aPausedRetryTailDoesNotComeBackWithTheSlot() async throws {
        try await withBench { bench in
            try await bench.intake("a", tokens(1_500))
            let first = try await bench.claim("w1").claims
            for claim in first {
                try await bench.retry(claim.recipients[0].index, of: claim, "w1")
                var rest = RecordCall(job: "a", batch: claim.batch, epoch: claim.epoch)
                for recipient in claim.recipients.dropFirst() {
                    rest.results.append(index: recipient.index, status: .sent)
                }
                rest.finish = true
                rest.number = 2
                #expect(try await bench.record(rest, "w1") == .ok())
            }
            let tail = try #require(try await bench.claim("w1").claims.first)
            _ = try await bench.call(FunctionLibrary.pause(bench.keys, job: "a"))
            _ = try await bench.call(
                FunctionLibrary.release(bench.keys, worker: "w1", batch: tail.name, epoch: tail.epoch, watermark: 0)
            )
            _ = try await bench.call(FunctionLibrary.resume(bench.keys, job: "a"))
            try await bench.intake("b", tokens(1_001))
            let claims = try await bench.claim("w2").claims
            #expect(Set(claims.map(\.job)) == ["a", "b"])
            let active = try await bench.active()
            #expect(active == ["b"])
        }
    }

    @Test func stopNewsCarriesTheEpochOfItsClaims() async throws {
        try await withBench { bench in
            try await bench.intake("a", tokens(2_000))
            let before = try #require(try await bench.claim("w1", most: 1).claims.first)
            _ = try await bench.call(FunctionLibrary.pause(bench.keys, job: "a"))
            _ = try await bench.call(FunctionLibrary.resume(bench.keys, job: "a"))
            let reply = try await bench.claim("w1", most: 1)
            guard case .stop("a", let epoch)? = reply.news.first, let later = reply.claims.first else {
                throw TestFailure("no stop and claim: \(reply)")
            }
            #expect(try #require(Int64(before.epoch)) <= epoch)
            #expect(try #require(Int64(later.epoch)) > epoch)
            // A worker that comes later has nothing to do with it.
            let registered = try await bench.call(FunctionLibrary.register(bench.keys, worker: "w3")).array
            #expect(registered?.last?.string == reply.newsCursor)
        }
    }

    @Test func aRejectedEntryCanBePushedAgainAndAnEntryDropped() async throws {
        try await withBench { bench in
            for _ in 0..<2 {
                let entry = try #require(
                    try await bench.call(RedisCommand("XADD", bench.keys.jobs, "*", "x", "1")).string
                )
                let reject = FunctionLibrary.reject(
                    bench.keys,
                    entryID: entry,
                    job: entry,
                    reason: "x: unknown field",
                    keepMs: 1_000,
                    fields: [("x", Array("1".utf8))]
                )
                _ = try await bench.call(reject)
            }
            let dead = try await bench.call(RedisCommand("XRANGE", bench.keys.dead, "-", "+")).array ?? []
            let ids = dead.compactMap { $0.array?.first?.string }
            let pushed = try await bench.words(FunctionLibrary.replay(bench.keys, entryID: ids[0]))
            #expect(pushed.first == "pushed")
            let entry = try await bench.call(RedisCommand("XRANGE", bench.keys.jobs, "-", "+")).array?.first?.array
            #expect(entry?[1].array?.map(\.string) == ["x", "1"])
            // A running job of the same id is not to be mixed up with it.
            try await bench.intake("twin", tokens(1))
            let twin = RedisCommand("XADD", bench.keys.dead, "*", "job", "1-1", "kind", "rejected", "f.id", "twin")
            let busy = try #require(try await bench.call(twin).string)
            let refused = try await bench.words(FunctionLibrary.replay(bench.keys, entryID: busy))
            #expect(refused == ["busy", "twin"])
            _ = try await bench.call(FunctionLibrary.drop(bench.keys, entryID: busy))
            let dropped = try await bench.words(FunctionLibrary.drop(bench.keys, entryID: ids[1]))
            #expect(dropped.first == "dropped")
            let missing = try await bench.words(FunctionLibrary.drop(bench.keys, entryID: ids[1]))
            #expect(missing == ["missing"])
            let left = try await bench.call(RedisCommand("XLEN", bench.keys.dead)).integer
            #expect(left == 0)
        }
    }

    @Test func backlogOfAReaderStopsTheProject() async throws {
        try await withBench { bench in
            _ = try await bench.call(RedisCommand("XGROUP", "CREATE", bench.keys.results, "readers", "0", "MKSTREAM"))
            for _ in 0..<11 { _ = try await bench.call(RedisCommand("XADD", bench.keys.results, "*", "a", "b")) }
            try await bench.intake("j", tokens(1))
            var call = ClaimCall(
                worker: "w1",
                most: 1,
                wanted: 1,
                wantedSingle: 1,
                window: 1,
                retries: 1,
                quotaPerMinute: 600_000
            )
            call.backlogLimit = 10
            call.permitsSingle = 1
            let pressed = try await bench.claim(call)
            #expect(pressed.pressure == "results")
            #expect(pressed.claims.isEmpty)
            #expect(pressed.permits == 0)
            let taken = try await bench.intake("k", tokens(1), taker: "w1")
            #expect(taken == .queued)
            let read = RedisCommand(
                "XREADGROUP",
                "GROUP",
                "readers",
                "r",
                "COUNT",
                "3",
                "STREAMS",
                bench.keys.results,
                ">"
            )
            let entries = try await bench.call(read).array?.first?.array?[1].array?.compactMap {
                $0.array?.first?.string
            }
            for id in entries ?? [] {
                _ = try await bench.call(RedisCommand("XACK", bench.keys.results, "readers", id))
            }
            var reply = pressed
            for _ in 0..<10_000 where !reply.pressure.isEmpty { reply = try await bench.claim(call) }
            #expect(reply.claims.count == 1)
        }
    }

    @Test func overviewShowsTheProjectsState() async throws {
        try await withBench { bench in
            try await bench.intake("a", tokens(1_001))
            try await bench.intake("b", tokens(1_001))
            _ = try await bench.claim("w1", most: 1)
            _ = try await bench.call(FunctionLibrary.pauseProject(bench.keys, reason: ""))
            let map = try await bench.map(FunctionLibrary.overview(bench.keys))
            #expect(map["active"] == "a")
            #expect(map["waiting_fanouts"] == "1")
            #expect(map["open"] == "2")
            #expect(map["workers"] == "2")
            #expect(map["paused"] == "1")
            #expect(map["pause_reason"] == "paused by an operator")
            let signs = JobStream.countSigns([bench.keys])
            #expect(try await bench.call(signs).integer == 2, "open jobs, and the pause")
            _ = try await bench.call(FunctionLibrary.resumeProject(bench.keys))
            let after = try await bench.map(FunctionLibrary.overview(bench.keys))
            #expect(after["paused"] == "0")
            #expect(try await bench.call(signs).integer == 1)
        }
    }

    // MARK: Probe

    @Test func newCredentialHasABlockedProjectProbedAtOnceAndLiftsNoPause() async throws {
        try await withBench { bench in
            #expect(try await bench.words(FunctionLibrary.probe(bench.keys)) == ["ok"])
            let control = bench.keys.base + "ctl"
            #expect(try await bench.client.send(RedisCommand("HEXISTS", control, "block_until")).integer == 0)
            _ = try await bench.call(
                RedisCommand("HSET", control, "block", "why", "block_until", "9999999999999", "pause", "by ana")
            )
            #expect(try await bench.words(FunctionLibrary.probe(bench.keys)) == ["ok"])
            let until = try await bench.client.send(RedisCommand("HGET", control, "block_until")).string
            #expect(try #require(until.flatMap { Int64($0) }) < 9_999_999_999_999)
            #expect(try await bench.client.send(RedisCommand("HGET", control, "pause")).string == "by ana")
        }
    }
}
