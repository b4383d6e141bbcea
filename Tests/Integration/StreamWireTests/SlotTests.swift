import FanfareModel
import StreamWire
import TestSupport
import Testing

/// Whose turn it is, in a real server.
@Suite struct SlotTests {
    @Test func oneFanOutAtATimeByPriorityThenArrival() async throws {
        try await withBench { bench in
            try await bench.intake("late", tokens(1_001))
            try await bench.intake("urgent", tokens(1_001)) { $0.priority = 7 }
            try await bench.intake("last", tokens(1_001))
            var order: [String] = []
            for _ in 0..<6 {
                let claims = try await bench.claim("w1", most: 1).claims
                let claim = try #require(claims.first)
                let active = try await bench.active()
                #expect(active == [claim.job])
                order.append(claim.job)
                try await bench.finish(claim, "w1")
            }
            #expect(order == ["urgent", "urgent", "late", "late", "last", "last"])
        }
    }

    @Test func slotIsHandedOverWithTheLastSend() async throws {
        try await withBench { bench in
            try await bench.intake("a", tokens(1_001))
            try await bench.intake("b", tokens(1_001))
            let claims = try await bench.claim("w1", wanted: 1_001).claims
            #expect(claims.map(\.job) == ["a", "a"])
            let nothing = try await bench.claim("w2").claims
            #expect(nothing.isEmpty)
            for claim in claims {
                var call = RecordCall(job: claim.job, batch: claim.batch, epoch: claim.epoch)
                call.allSent = true
                #expect(try await bench.record(call, "w1") == .ok())
                // Said twice it counts once.
                #expect(try await bench.record(call, "w1") == .ok())
            }
            let next = try await bench.claim("w2").claims
            #expect(next.map(\.job) == ["b", "b"])
            let state = try await bench.job("a")
            #expect(state["state"] == "retrying")
            #expect(state["first_pass_ms"] != nil)
        }
    }

    /// Of the last batch of a fan-out Redis has lost an earlier flush. Its first pass is over, so it needs no slot.
    @Test func lastBatchWithALostFlushIsGivenOutAgain() async throws {
        try await withBench { bench in
            try await bench.intake("a", tokens(1_500))
            let claims = try await bench.claim("w1").claims
            #expect(claims.map(\.name) == ["a/0", "a/1"])
            try await bench.finish(claims[0], "w1")
            var rest = RecordCall(job: "a", batch: "1", epoch: claims[1].epoch)
            rest.results = ResultBuffer((1_000..<1_499).map { bench.sent($0) })
            rest.finish = true
            rest.number = 2
            #expect(try await bench.record(rest, "w1") == .ok())
            let again = try #require(try await bench.claim("w2").claims.first)
            #expect(again.name == "a/1")
            let open = again.recipients.filter { $0.progress != .settled }
            #expect(open.map(\.index) == [1_499] && open.map(\.progress) == [.maybeSent])
            var last = again
            last.recipients = open
            try await bench.finish(last, "w2")
            let job = try await bench.job("a")
            #expect(job["state"] == "done" && job["sent"] == "1500")
        }
    }

    @Test func priorityNinePreemptsBetweenBatches() async throws {
        try await withBench { bench in
            try await bench.intake("a", tokens(2_500))
            let first = try await bench.claim("w1", most: 1).claims
            #expect(first.map(\.batch) == ["0"])
            try await bench.intake("now", tokens(1_001)) { $0.priority = 9 }
            let second = try await bench.claim("w1", most: 1).claims
            #expect(second.map(\.job) == ["now"])
            let preempted = try await bench.job("a")
            #expect(preempted["state"] == "waiting")
            let last = try await bench.claim("w2").claims
            #expect(last.map(\.job) == ["now"])
            for claim in second { try await bench.finish(claim, "w1") }
            for claim in last { try await bench.finish(claim, "w2") }
            let resumed = try await bench.claim("w1").claims
            #expect(resumed.map(\.job) == ["a", "a"])
            #expect(resumed.map(\.batch) == ["1", "2"])
        }
    }

    @Test func priorityEightWaitsForTheSlotAndSinglesDoNot() async throws {
        try await withBench { bench in
            try await bench.intake("a", tokens(2_500))
            _ = try await bench.claim("w1", most: 1)
            try await bench.intake("high", tokens(1_001)) { $0.priority = 8 }
            try await bench.intake("single", tokens(1))
            let claims = try await bench.claim("w1", most: 2).claims
            #expect(claims.map(\.job) == ["single", "a"])
        }
    }

    @Test func aTopicKeepsTheSlotForAsLongAsFCMIsBusy() async throws {
        try await withBench { bench in
            try await bench.intake("topic", .topic("news")) { $0.audienceSize = 20_000 }
            try await bench.intake("next", .topic("other"))
            let claim = try #require(try await bench.claim("w1").claims.first)
            #expect(claim.job == "topic")
            try await bench.finish(claim, "w1")
            let state = try await bench.job("topic")
            #expect(state["state"] == "done")
            let held = try #require(try await bench.map(RedisCommand("HGETALL", bench.keys.base + "active"))["topic"])
            let until = try #require(held.split(separator: "|").last.flatMap { Int64($0) })
            let reply = try await bench.claim("w2")
            #expect(reply.claims.isEmpty)
            #expect(until - reply.nowMs <= 2_000)
            var next = reply
            while next.nowMs < until { next = try await bench.claim("w2") }
            #expect(next.claims.map(\.job) == ["next"])
        }
    }

    @Test func aRefusedTopicGivesTheSlotUpAndTakesItsTurnAgain() async throws {
        try await withBench { bench in
            try await bench.intake("topic", .topic("news")) { $0.audienceSize = 1_000_000 }
            try await bench.intake("next", .topic("other")) { $0.audienceSize = 1_000_000 }
            let claim = try #require(try await bench.claim("w1").claims.first)
            var call = RecordCall(job: "topic", batch: claim.batch, epoch: claim.epoch)
            let history = RecipientHistory(attempts: 1, firstAttemptMs: 1, maybeDuplicate: false)
            call.retries = [RecordCall.Retry(index: 0, dueMs: 1, parked: false, packed: history.packed(with: "news"))]
            call.finish = true
            #expect(try await bench.record(call, "w1") == .ok())
            let next = try await bench.claim("w1").claims
            #expect(next.map(\.job) == ["next"])
            try await bench.finish(try #require(next.first), "w1")
            // Now the other one is being fanned out, and the retry has to wait for it.
            let waiting = try await bench.claim("w1").claims
            #expect(waiting.isEmpty)
            let active = try await bench.active()
            #expect(active == ["next"])
        }
    }

    @Test func orphanedBatchIsClaimedBeforeTheNextOne() async throws {
        try await withBench { bench in
            try await bench.intake("a", tokens(3_000))
            let held = try await bench.claim("w1", most: 1).claims
            #expect(held.map(\.batch) == ["0"])
            try await bench.declareDead("w1")
            let claims = try await bench.claim("w2").claims
            #expect(claims.map(\.batch) == ["0", "1", "2"])
            #expect(claims.first?.deliveries == 2)
        }
    }

    @Test func broadcastInFlightIsNotPreempted() async throws {
        try await withBench { bench in
            try await bench.intake("topic", .topic("news")) { $0.audienceSize = 5_000_000 }
            let claim = try #require(try await bench.claim("w1").claims.first)
            try await bench.intake("nine", tokens(1_001)) { $0.priority = 9 }
            let none = try await bench.claim("w2").claims
            #expect(none.isEmpty)
            _ = try await bench.call(FunctionLibrary.cancel(bench.keys, job: "topic"))
            let stillNone = try await bench.claim("w2").claims.filter { $0.ending == nil }
            #expect(stillNone.isEmpty)
            try await bench.finish(claim, "w1")
            let held = try await bench.claim("w2").claims
            #expect(held.isEmpty)
            // The way out when the audience was mistyped.
            let over = try await bench.words(FunctionLibrary.cancel(bench.keys, job: "topic"))
            #expect(over == ["over", "done"])
            let nine = try await bench.claim("w2").claims
            #expect(nine.map(\.job) == ["nine", "nine"])
        }
    }

    @Test func atMostFiveHundredGroupSendsAreInFlight() async throws {
        try await withBench { bench in
            for index in 0..<520 { try await bench.intake("g\(index)", .group("key\(index)"), taker: "w1") }
            let first = try await bench.call(RedisCommand("SCARD", bench.keys.base + "groups_on")).integer
            #expect(first == 500)
            let none = try await bench.claim("w2", most: 100)
            #expect(none.claims.isEmpty)
            let epoch = try #require(
                try await bench.call(RedisCommand("HGET", bench.keys.base + "b:g0/0", "epoch")).string
            )
            var call = RecordCall(job: "g0", batch: "0", epoch: epoch)
            call.results = ResultBuffer([bench.sent(0)])
            call.finish = true
            #expect(try await bench.record(call, "w1") == .ok())
            let one = try await bench.claim("w2", most: 100).claims
            #expect(one.map(\.job) == ["g500"])
        }
    }

    @Test func smearStartsNoFanoutNearAQuarterHour() async throws {
        let spreadMs = try await spread(LibraryBench.keys)
        #expect((0..<60_000).contains(spreadMs))
        let quarter: Int64 = 1_800_000_000_000
        #expect(quarter % 900_000 == 0)
        for (sinceMs, starts) in [
            (0, false), (119_999, false), (119_999 + spreadMs, false), (120_000 + spreadMs, true), (450_000, true),
            (779_999, true), (780_000, false), (899_999, false),
        ] {
            let nowMs = quarter + sinceMs
            try await withBench(nowMs: nowMs) { bench in
                try await bench.intake("a", tokens(1_001))
                var call = ClaimCall(
                    worker: "w1",
                    most: 1,
                    wanted: 1_000,
                    wantedSingle: 0,
                    window: 1,
                    retries: 0,
                    quotaPerMinute: 600_000
                )
                call.smear = true
                let reply = try await bench.claim(call)
                #expect(reply.nowMs == nowMs)
                #expect(reply.claims.isEmpty != starts, "\(sinceMs) ms after the quarter, own moment \(spreadMs)")
                call.smear = false
                if !starts { #expect(try await bench.claim(call).claims.count == 1, "without smear") }
            }
        }
    }

    /// Milliseconds after the two minutes at which a project begins.
    private func spread(_ keys: ProjectKeys) async throws -> Int64 {
        var spreadMs: Int64 = -1
        try await withBench { bench in
            let script = "return tonumber(string.sub(redis.sha1hex(ARGV[1]), 1, 6), 16) % 60000"
            spreadMs = try #require(try await bench.call(RedisCommand("EVAL", script, "0", keys.base)).integer)
        }
        return spreadMs
    }
}
