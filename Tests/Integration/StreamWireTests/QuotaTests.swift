import FanfareModel
import RedisTransport
import StreamWire
import TestSupport
import Testing

/// Permits, holds and refused rates in a real server.
@Suite struct QuotaTests {
    private func call(_ worker: String, single: Int = 0, fanout: Int = 0, returned: Int = 0, quota: Int = 600_000)
        -> ClaimCall
    {
        var call = ClaimCall(
            worker: worker,
            most: 0,
            wanted: 0,
            wantedSingle: 0,
            window: 1,
            retries: 0,
            quotaPerMinute: quota
        )
        call.permitsSingle = single
        call.permitsFanout = fanout
        call.returned = returned
        return call
    }

    @Test func fromIdleAWorkerGetsAShareOfTheFloorAndNotTheQuota() async throws {
        try await withBench { bench in
            // The floor is a fiftieth of the rate, the bucket a quarter of a second of it: 49 permits.
            let first = try await bench.claim(call("w1", fanout: 10_000))
            #expect((20...25).contains(first.permits))
            let second = try await bench.claim(call("w2", fanout: 10_000))
            #expect((8...25).contains(second.permits))
            let single = try await bench.claim(call("w2", single: 5))
            #expect(single.permits == 5)
        }
    }

    @Test func aSecondOfDemandBringsNoMoreThanItsShare() async throws {
        try await withBench { bench in
            let start = try await bench.claim(call("w1", fanout: 100_000, quota: 60_000_000))
            var lent = start.permits
            var now = start.nowMs
            // Permits that no worker asks for within a quarter of a second are lost.
            var missed: Int64 = 0
            while now < start.nowMs + 500 {
                let reply = try await bench.claim(call("w1", fanout: 1_000_000, quota: 60_000_000))
                lent += reply.permits
                missed += max(0, reply.nowMs - now - 200)
                now = reply.nowMs
            }
            // The floor is 19,700 a second and climbs by 16,088 a second every second.
            func share(_ milliseconds: Int64) -> Double {
                let seconds = Double(milliseconds) / 1_000
                return 4_925 + 19_700 * seconds + 16_100 * seconds * seconds
            }
            #expect(Double(lent) <= share(now - start.nowMs))
            #expect(Double(lent) >= share(now - start.nowMs - missed) / 2)
        }
    }

    @Test func returnedPermitsAreLentAgain() async throws {
        try await withBench { bench in
            let first = try await bench.claim(call("w1", single: 1_000, quota: 60))
            #expect(first.permits == 1)
            let none = try await bench.claim(call("w2", single: 1, quota: 60))
            #expect(none.permits == 0)
            _ = try await bench.claim(call("w1", returned: 1, quota: 60))
            let again = try await bench.claim(call("w2", single: 1, quota: 60))
            #expect(again.permits == 1)
        }
    }

    @Test func aHoldStopsEveryWorkerAndTheRateClimbsAgain() async throws {
        try await withBench { bench in
            _ = try await bench.call(FunctionLibrary.hold(bench.keys, milliseconds: 1_500))
            let held = try await bench.claim(call("w2", single: 10))
            #expect(held.permits == 0)
            #expect((1...1_500).contains(held.holdMs))
            var reply = held
            while reply.holdMs > 0 { reply = try await bench.claim(call("w2", single: 10_000)) }
            #expect(reply.permits < 100)
        }
    }

    @Test func refusalsOfManyWorkersHoldTheProjectTogether() async throws {
        try await withBench { bench in
            func report(_ worker: String, _ answers: Int, refused: Int) async throws -> ClaimReply {
                var ask = call(worker, single: 10)
                ask.answers = AnswerReport(answers: answers, refused: refused, retryAfterMs: 60_000, spanMs: 0)
                return try await bench.claim(ask)
            }
            let few = try await report("w1", 30, refused: 3)
            #expect(few.holdMs == 0)
            let held = try await report("w2", 10, refused: 2)
            #expect((30_000...60_000).contains(held.holdMs) && held.permits == 0)
            let other = try await bench.claim(call("w1", single: 10))
            #expect(other.holdMs > 30_000 && other.permits == 0)
            let overview = try #require(OverviewReply(try await bench.call(FunctionLibrary.overview(bench.keys))))
            #expect(overview.isRecovering && overview.permitsPerSecond == 10)
        }
    }

    @Test func multicastGetsAllItsPermitsOrNone() async throws {
        try await withBench { bench in
            var ask = call("w1", fanout: 2_500)
            ask.multicast = 1_000
            let first = try await bench.claim(ask).permits
            let second = try await bench.claim(ask).permits
            #expect(first == 1_000 && second == 0, "the debt is not paid")
            let single = try await bench.claim(call("w2", single: 1)).permits
            #expect(single == 1)
            // Given back, it pays its debt.
            ask.returned = 1_000
            let again = try await bench.claim(ask).permits
            #expect(again == 1_000)
        }
    }

    /// The budget of retries counts requests. Where recipients share one, a job of one batch has one or few.
    @Test(arguments: [(nil, [2]), (0, [8])]) func retryBudgetCountsAMulticastOnce(unit: Int?, given: [Int]) async throws
    {
        try await withBench { bench in
            try await bench.intake("j", tokens(8))
            let first = try #require(try await bench.claim("w1").claims.first)
            for index in 0..<8 {
                var record = RecordCall(job: "j", batch: first.batch, epoch: first.epoch)
                let history = RecipientHistory(attempts: 1, firstAttemptMs: 1, maybeDuplicate: false)
                record.retries = [.init(index: index, dueMs: 1, parked: false, packed: history.packed(with: "t"))]
                record.number = index + 1
                record.finish = index == 7
                #expect(try await bench.record(record, "w1") == .ok())
            }
            var ask = call("w1", single: 10)
            (ask.most, ask.wanted, ask.wantedSingle, ask.retries, ask.multicast) = (10, 100, 100, 2, unit)
            #expect(try await bench.claim(ask).claims.map(\.recipients.count) == given)
        }
    }

    @Test func aRefusedRateReachesEveryWorkerAndIsPaced() async throws {
        try await withBench { bench in
            try await bench.intake("j", tokens(2))
            let claim = try #require(try await bench.claim("w1").claims.first)
            let nowMs = try await bench.claim("w1").nowMs
            var record = RecordCall(job: "j", batch: claim.batch, epoch: claim.epoch)
            record.refusedRates = [.init(recipient: "token:t0", untilMs: nowMs + 3_000)]
            #expect(try await bench.record(record, "w1") == .ok())
            let heard = try await bench.claim("w2")
            #expect(heard.news == [.rate(recipient: "token:t0", untilMs: nowMs + 3_000)])
            func pace(_ name: String) async throws -> Int64? {
                try await bench.call(FunctionLibrary.pace(bench.keys, recipient: name)).integer
            }
            let wait = try #require(try await pace("token:t0"))
            #expect((1...3_000).contains(wait))
            // A quarter of a second apart: 240 a minute.
            let first = try await pace("token:t1")
            #expect(first == 0)
            // Asked for together: on a busy machine the answer to one may take longer than that.
            async let second = pace("token:t1")
            async let third = pace("token:t1")
            let waits = try await [#require(second), #require(third)]
            #expect(waits.contains { (1...250).contains($0) }, "\(waits)")
        }
    }

    @Test func holdOfTheNextHolderIsNotTakenForARepeatedCall() async throws {
        try await withBench { bench in
            try await bench.intake("j", tokens(2))
            let first = try #require(try await bench.claim("w1").claims.first)
            var call = RecordCall(job: "j", batch: first.batch, epoch: first.epoch)
            call.number = 40
            #expect(try await bench.record(call, "w1") == .ok())
            try await bench.declareDead("w1")
            let second = try #require(try await bench.claim("w2").claims.first)
            var hold = RecordCall(job: "j", batch: second.batch, epoch: second.epoch)
            hold.holdMs = 60_000
            #expect(try await bench.record(hold, "w2") == .ok())
            let reply = try await bench.claim("w2")
            #expect(reply.holdMs > 50_000)
        }
    }

    @Test func retriesBeyondTheBudgetDelayNoOthers() async throws {
        try await withBench { bench in
            try await bench.intake("many", tokens(3_000))
            for claim in try await bench.claim("w1").claims {
                var call = RecordCall(job: "many", batch: claim.batch, epoch: claim.epoch)
                let history = RecipientHistory(attempts: 1, firstAttemptMs: 1, maybeDuplicate: false)
                call.retries = claim.recipients.map {
                    .init(index: $0.index, dueMs: 1, parked: false, packed: history.packed(with: $0.value))
                }
                call.finish = true
                #expect(try await bench.record(call, "w1") == .ok())
            }
            try await bench.intake("otp", tokens(1))
            let otp = try #require(try await bench.claim("w1").claims.first { $0.job == "otp" })
            try await bench.retry(0, attempts: 0, of: otp, "w1", finish: true)
            var ask = ClaimCall(
                worker: "w2",
                most: 10,
                wanted: 1_000,
                wantedSingle: 1_000,
                window: 128,
                retries: 0,
                quotaPerMinute: 600_000
            )
            let free = try await bench.claim(ask).claims
            #expect(free.map(\.job) == ["otp"])
            ask.retries = 10
            let some = try await bench.claim(ask).claims
            #expect(some.map(\.recipients.count) == [10])
            // Where many share a request, one of the ten is enough for all of them.
            ask.multicast = 0
            let shared = try await bench.claim(ask).claims
            #expect(shared.map(\.recipients.count) == [1_000])
        }
    }

    @Test func budgetLimitsRetriesAndNotUnsentRecipients() async throws {
        try await withBench { bench in
            try await bench.intake("j", tokens(10))
            let claim = try #require(try await bench.claim("w1").claims.first)
            var record = RecordCall(job: "j", batch: claim.batch, epoch: claim.epoch)
            record.retries = (0..<10).map { index in
                let history = RecipientHistory(attempts: index < 6 ? 1 : 0, firstAttemptMs: 1, maybeDuplicate: false)
                return .init(index: index, dueMs: 1, parked: false, packed: history.packed(with: "t\(index)"))
            }
            record.finish = true
            #expect(try await bench.record(record, "w1") == .ok())
            var ask = ClaimCall(
                worker: "w2",
                most: 10,
                wanted: 100,
                wantedSingle: 100,
                window: 128,
                retries: 2,
                quotaPerMinute: 600_000
            )
            let some = try await bench.claim(ask).claims
            let taken = some.flatMap(\.recipients).map(\.index)
            #expect(taken.filter { $0 < 6 }.count == 2)
            #expect(Set(taken).isSuperset(of: [6, 7, 8, 9]))
            ask.retries = 100
            let rest = try await bench.claim(ask).claims
            #expect(rest.first?.recipients.count == 4)
        }
    }

    // MARK: Workers with different configurations

    private func quota(_ bench: LibraryBench) async throws -> Int64? {
        try await bench.client.send(RedisCommand("HGET", bench.keys.base + "ctl", "quota")).string.flatMap { Int64($0) }
    }

    @Test func lowestQuotaOfTheLivingWorkersCounts() async throws {
        try await withBench { bench in
            _ = try await bench.claim(call("w1", quota: 600_000))
            #expect(try await quota(bench) == 600_000)
            _ = try await bench.claim(call("w2", quota: 6_000))
            #expect(try await quota(bench) == 6_000)
            // The other worker's claims lend by the lowest quota: half of a bucket of 24 permits instead of 49.
            let reply = try await bench.claim(call("w1", fanout: 10_000, quota: 600_000))
            #expect(try await quota(bench) == 6_000 && (1...13).contains(reply.permits), "\(reply.permits)")
            _ = try await bench.claim(call("w2", quota: 60_000))
            #expect(try await quota(bench) == 60_000)
            _ = try await bench.words(FunctionLibrary.deregister(bench.keys, worker: "w2"))
            #expect(try await quota(bench) == 600_000)
            _ = try await bench.claim(call("w1", quota: 1_000))
            #expect(try await quota(bench) == 1_000)
        }
    }

    /// A worker takes a new name, and the deregistration of the old one is lost: the old name's lease ends.
    @Test func quotaOfANameEndsWithItsLease() async throws {
        try await withBench { bench in
            for name in ["w.1", "w.2"] { try await bench.register(name) }
            _ = try await bench.claim(call("w.1", quota: 1_000))
            _ = try await bench.claim(call("w.2", quota: 600_000))
            #expect(try await quota(bench) == 1_000)
            try await bench.declareDead("w.1")
            #expect(try await quota(bench) == 600_000)
        }
    }

    @Test func workerThatEndsLeavesNoQuota() async throws {
        try await withBench { bench in
            _ = try await bench.claim(call("w1", quota: 600_000))
            _ = try await bench.words(FunctionLibrary.deregister(bench.keys, worker: "w1"))
            let fields = try await bench.client.send(RedisCommand("HKEYS", bench.keys.base + "ctl")).array ?? []
            #expect(fields.compactMap(\.string).filter { $0.hasPrefix("quota") } == ["quota"])
        }
    }
}
