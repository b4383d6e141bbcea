import FanfareCore
import FanfareModel
import RedisTransport
import StreamWire
import TestSupport
import Testing

/// The job field `rate`: watermarks are granted no faster than the job's first attempts may begin.
@Suite struct GuardRateTests {
    /// Two workers that ask for as much as they can get, in random steps of time.
    @Test(arguments: [1, 30, 66, 67, 600, 6_000])
    func grantsWithinAMinuteNeverExceedTheRate(_ rate: Int) async throws {
        try await withGuardBench { guards in
            try await guards.intake("a", 9_500) { $0.ratePerMinute = rate }
            var dice = SplitMix64(seed: UInt64(rate))
            var demand = RateDemand()
            let endMs = GuardBench.startMs + 150_000
            while try await guards.clock() < endMs, demand.granted < 9_500 {
                try await guards.setClock(try await guards.clock() + Int64.random(in: 20...300, using: &dice))
                try await demand.ask(guards)
            }
            let elapsedMs = try await guards.clock() - GuardBench.startMs
            #expect(demand.maximumWithinAMinute <= rate)
            // Not slower than the rate without need, either.
            let least = min(9_500, Int(Double(rate) * Double(elapsedMs) / 60_000 * 0.75) - 1)
            #expect(demand.granted >= least, "\(demand.granted) granted in \(elapsedMs) ms")
        }
    }

    @Test func firstWatermarkIsWhatTheRateAllowsAtOnce() async throws {
        try await withGuardBench { guards in
            // A quarter of a second's share of 98.5 %: 24.6.
            try await guards.intake("a", 2_500) { $0.ratePerMinute = 6_000 }
            let claims = try await guards.claims()
            #expect(claims.map(\.watermark) == [24])
            // A job without a rate gets the worker's window.
            try await guards.bench.intake("b", tokens(10))
            #expect(try await guards.claims().map(\.watermark) == [128])
        }
    }

    @Test func higherWatermarkIsGrantedInParts() async throws {
        try await withGuardBench { guards in
            try await guards.intake("a", 2_500) { $0.ratePerMinute = 6_000 }
            var batch = GuardedBatch(try #require(try await guards.claims().first))
            let none = try await batch.record(0..<24, asking: 152, in: guards.bench)
            #expect(none.watermark == 24 && none.waitMs > 0 && none.waitMs <= 250)
            try await guards.advance(100)
            // 9.85 more, of which 0.625 were left.
            let some = try await batch.record(0..<0, asking: 152, in: guards.bench)
            #expect(some.watermark == 34)
            #expect(
                try await guards.bench.call(RedisCommand("HGET", guards.keys.base + "b:a/0", "upto")).string == "34"
            )
        }
    }

    @Test func repeatedFlushGetsTheSameWatermark() async throws {
        try await withGuardBench { guards in
            try await guards.intake("a", 2_500) { $0.ratePerMinute = 6_000 }
            var batch = GuardedBatch(try #require(try await guards.claims().first))
            try await guards.advance(200)
            let call = batch.call((0..<24).map { ($0, .sent) }, asking: 100)
            let first = try await guards.bench.record(call, "w1")
            guard case .ok(let guarded) = first, let watermark = guarded.watermark else {
                throw TestFailure("\(first)")
            }
            #expect(watermark > 24 && watermark < 100)
            try await guards.advance(10_000)
            guard case .ok(let again) = try await guards.bench.record(call, "w1") else {
                throw TestFailure("repeated")
            }
            #expect(again.watermark == watermark)
        }
    }

    @Test func rateAboveTheQuotaIsCutToIt() async throws {
        try await withGuardBench { guards in
            try await guards.intake("a", 2_500) { $0.ratePerMinute = 6_000_000 }
            let reason = "rate: 6000000 a minute, cut to the project's quota of 600000"
            #expect(try await guards.bench.job("a")["reason"] == reason)
            // A quarter of a second of 98.5 % of 600,000 are 2,462; the third batch waits until all of it can be granted.
            #expect(try await guards.claims(window: 5_000).map(\.watermark) == [1_000, 1_000])
        }
    }

    /// The quota falls, is raised, and an operator pauses the job: whoever looks at it learns by what its pace is decided.
    @Test func reasonFollowsTheQuotaOfARunningJob() async throws {
        try await withGuardBench { guards in
            try await guards.intake("a", 2_500) { $0.ratePerMinute = 6_000 }
            var batch = GuardedBatch(try #require(try await guards.claims().first))
            try await guards.advance(200)
            _ = try await batch.record(0..<5, asking: 100, in: guards.bench)
            #expect(try await guards.bench.job("a")["reason"] == nil)
            let quota = RedisCommand("HSET", guards.keys.base + "ctl", "quota", "1200")
            _ = try await guards.bench.call(quota)
            try await guards.advance(200)
            _ = try await batch.record(5..<10, asking: 100, in: guards.bench)
            let cut = "rate: 6000 a minute, cut to the project's quota of 1200"
            #expect(try await guards.bench.job("a")["reason"] == cut)
            try await guards.pause("a")
            #expect(try await guards.bench.job("a")["reason"] != cut)
            try await batch.release(guards)
            _ = try await guards.resume("a")
            try await guards.advance(2_000)
            batch = GuardedBatch(try #require(try await guards.claims().first))
            try await guards.advance(2_000)
            _ = try await batch.record(10..<12, asking: 100, in: guards.bench)
            #expect(try await guards.bench.job("a")["reason"] == cut)
        }
    }

    @Test func fanOutThatWaitsForItsRateYieldsTheSlotAndComesBackAtItsOldPlace() async throws {
        try await withGuardBench { guards in
            try await guards.intake("a", 2_500) { $0.ratePerMinute = 60 }
            var held = GuardedBatch(try #require(try await guards.claims().first))
            #expect(held.watermark == 1)
            // It keeps the slot while no other fan-out waits for it.
            _ = try await guards.claims()
            #expect(try await guards.bench.active() == ["a"])
            try await guards.bench.intake("b", tokens(1_500))
            try await guards.bench.intake("c", tokens(1_500))
            let others = try await guards.claims("w2")
            #expect(others.map(\.job) == ["b", "b"])
            #expect(try await guards.state("a") == ["waiting", "rate: 60 a minute"])
            // It has used its rate up.
            #expect(try await held.record(0..<1, asking: 9, in: guards.bench).watermark == 1)
            try await guards.advance(1_100)
            #expect(try await guards.bench.active() == ["b"])
            for claim in others { try await guards.bench.finish(claim, "w2") }
            // Its second has come, and it stands before c, which came later. What it may send begins with a batch.
            let turn = try await guards.claims("w2")
            #expect(turn.map(\.name) == ["a/1"] && turn.map(\.watermark) == [1])
            let last = try await guards.claims("w2")
            #expect(last.map(\.job) == ["c", "c"])
            // Alone it keeps the slot, and the held batch gets what the rate allows.
            for claim in last { try await guards.bench.finish(claim, "w2") }
            try await guards.advance(1_100)
            _ = try await guards.bench.claim("w2", most: 0)
            #expect(try await guards.bench.active() == ["a"])
            #expect(try await held.record(0..<0, asking: 9, in: guards.bench).watermark == 2)
        }
    }

    /// A worker whose room they fill would never claim the fan-out that has the slot.
    @Test func heldBatchesGoOnWithoutTheSlot() async throws {
        try await withGuardBench { guards in
            try await guards.intake("a", 2_500) { $0.ratePerMinute = 60 }
            var held = GuardedBatch(try #require(try await guards.claims().first))
            try await guards.bench.intake("b", tokens(1_500))
            _ = try await guards.claims("w2")
            #expect(try await guards.bench.active() == ["b"])
            try await guards.advance(1_100)
            #expect(try await held.record(0..<1, asking: 9, in: guards.bench).watermark == 2)
        }
    }

    @Test func slowJobHoldsTwoBatchesAtMost() async throws {
        try await withGuardBench { guards in
            try await guards.intake("a", 5_000) { $0.ratePerMinute = 60 }
            var names: [String] = []
            for _ in 0..<6 {
                names += try await guards.claims().map(\.batch)
                try await guards.advance(1_100)
            }
            #expect(names == ["0", "1"])
        }
    }

    @Test func jobOfOneBatchIsSentBelowGrantedWatermarks() async throws {
        try await withGuardBench { guards in
            #expect(try await guards.intake("a", 40) { $0.ratePerMinute = 600 } == .queued)
            var batch = GuardedBatch(try #require(try await guards.claims().first))
            #expect(batch.watermark == 2)
            var sent = 0
            for _ in 0..<200 where sent < 40 {
                let from = sent
                sent = batch.watermark
                try await batch.record(from..<sent, asking: sent < 40 ? 40 : nil, finish: sent == 40, in: guards.bench)
                try await guards.advance(100)
            }
            #expect(try await guards.bench.job("a")["state"] == "done")
        }
    }

    @Test func retriesNeedNoRate() async throws {
        try await withGuardBench { guards in
            try await guards.intake("a", 2_500) { $0.ratePerMinute = 600 }
            var batch = GuardedBatch(try #require(try await guards.claims().first))
            #expect(batch.watermark == 2)
            try await batch.record(0..<2, .retryable, in: guards.bench)
            let retry = try #require(try await guards.claims("w2").first)
            #expect(retry.pass == .retry && retry.watermark == 128)
            #expect(try await guards.field("rate_have", of: "a").flatMap(Double.init).map { $0 < 1 } == true)
        }
    }

    @Test func watermarkOfADeadWorkerIsNotGrantedAgain() async throws {
        try await withGuardBench { guards in
            try await guards.intake("a", 2_500) { $0.ratePerMinute = 6_000 }
            _ = try await guards.claims()
            try await guards.bench.declareDead("w1")
            let next = try #require(try await guards.claims("w2").first)
            #expect(next.deliveries == 2 && next.watermark == 24)
            let open = next.recipients.prefix(25).map(\.progress)
            #expect(open == Array(repeating: .maybeSent, count: 24) + [.unsent])
            var batch = GuardedBatch(next, "w2")
            #expect(try await batch.record(0..<24, asking: 152, in: guards.bench).watermark == 24)
        }
    }
}

/// Two workers that send at once whatever they are granted, and when each part was.
private struct RateDemand {
    private var batches: [GuardedBatch] = []
    private var sent: [String: Int] = [:]
    private(set) var grants: [(ms: Int64, count: Int)] = []

    var granted: Int { grants.reduce(0) { $0 + $1.count } }

    var maximumWithinAMinute: Int {
        var (first, sum, most) = (0, 0, 0)
        for grant in grants {
            sum += grant.count
            while grants[first].ms <= grant.ms - 60_000 {
                sum -= grants[first].count
                first += 1
            }
            most = max(most, sum)
        }
        return most
    }

    mutating func ask(_ guards: GuardBench) async throws {
        let nowMs = try await guards.clock()
        for worker in ["w1", "w2"] {
            for claim in try await guards.bench.claim(worker, most: 2).claims {
                batches.append(GuardedBatch(claim, worker))
                grants.append((nowMs, claim.watermark))
                sent[claim.name] = 0
            }
        }
        for at in batches.indices {
            let (name, count) = (batches[at].claim.name, batches[at].claim.recipients.count)
            let (from, below) = (sent[name] ?? 0, batches[at].watermark)
            let isLast = below == count
            let asked = isLast ? nil : min(count, below + 128)
            try await batches[at].record(from..<below, asking: asked, finish: isLast, in: guards.bench)
            sent[name] = below
            if batches[at].watermark > below { grants.append((nowMs, batches[at].watermark - below)) }
        }
        batches.removeAll { sent[$0.claim.name] == $0.claim.recipients.count }
    }
}
