import FanfareModel
import StreamWire
import TestSupport
import Testing

/// Jobs without a message, and what FCM takes of them, in a real server.
@Suite struct ManagementTests {
    @Test func subscriptionTakesNoSlot() async throws {
        try await withBench { bench in
            try await bench.intake("fanout", tokens(1_001))
            try await bench.intake("subscribe", tokens(2_500), taker: "w1") { $0.operation = .subscribe }
            let replies = try await [bench.claim("w1", most: 1), bench.claim("w2", most: 10)]
            #expect(replies[0].claims.map(\.job) == ["fanout"], "management waits to be asked for")
            var call = ClaimCall(
                worker: "w1",
                most: 10,
                wanted: 0,
                wantedSingle: 0,
                window: 1_000,
                retries: 0,
                quotaPerMinute: 600_000
            )
            call.wantedManaged = 1_500
            let claims = try await bench.claim(call).claims
            #expect(claims.map(\.name) == ["subscribe/0", "subscribe/1"])
            let rest = try await bench.claim(call).claims
            #expect(rest.map(\.name) == ["subscribe/2"])
            #expect(rest.first?.recipients.count == 500)
            let active = try await bench.active()
            #expect(active == ["fanout"])
            for claim in claims + rest { try await bench.finish(claim, "w1") }
            let job = try await bench.job("subscribe")
            #expect(job["state"] == "done")
            #expect(job["sent"] == "2500")
        }
    }

    /// What waits of management is given to a worker that has room for management, and no more of it than that.
    @Test(arguments: [0, 1]) func managementRetriesAreBoundedByTheirOwnRoom(attempts: Int) async throws {
        try await withBench { bench in
            try await bench.intake("j", tokens(1_000), taker: "w1") { $0.operation = .subscribe }
            var call = ClaimCall(
                worker: "w1",
                most: 10,
                wanted: 0,
                wantedSingle: 0,
                window: 1_000,
                retries: 0,
                quotaPerMinute: 600_000
            )
            call.wantedManaged = 1_000
            let first = try #require(try await bench.claim(call).claims.first)
            var record = RecordCall(job: "j", batch: first.batch, epoch: first.epoch)
            let packed = RecipientHistory(attempts: attempts, firstAttemptMs: 1).packed(with: "t")
            record.retries = first.recipients.map {
                .init(index: $0.index, dueMs: 1, parked: false, packed: packed)
            }
            record.finish = true
            #expect(try await bench.record(record, "w1") == .ok())

            let sends = try await bench.claim("w2")
            #expect(sends.claims.isEmpty, "room for sends is none for management")
            #expect(sends.nextDueMs == 1, "somebody comes back for it")
            call.wantedManaged = 300
            let some = try await bench.claim(call).claims
            #expect(some.map(\.recipients.count) == [300])
            call.wantedManaged = 1_000
            let rest = try await bench.claim(call).claims
            #expect(rest.map(\.recipients.count) == [700])
            for claim in some + rest { try await bench.finish(claim, "w1") }
            #expect(try await bench.job("j")["state"] == "done")
        }
    }

    @Test func managementRetriesEndWithTheirJob() async throws {
        try await withBench { bench in
            try await bench.intake("j", tokens(2), taker: "w1") { $0.operation = .subscribe }
            var call = ClaimCall(
                worker: "w1",
                most: 10,
                wanted: 0,
                wantedSingle: 1,
                window: 1_000,
                retries: 0,
                quotaPerMinute: 600_000
            )
            call.wantedManaged = 10
            let first = try #require(try await bench.claim(call).claims.first)
            var record = RecordCall(job: "j", batch: first.batch, epoch: first.epoch)
            record.retries = first.recipients.map {
                .init(index: $0.index, dueMs: 1, parked: false, packed: "1|1|0|t")
            }
            record.finish = true
            #expect(try await bench.record(record, "w1") == .ok())
            _ = try await bench.words(FunctionLibrary.cancel(bench.keys, job: "j"))
            call.wantedManaged = 0
            let ending = try #require(try await bench.claim(call).claims.first)
            #expect(ending.ending == "cancelled" && ending.recipients.count == 2)
            try await bench.finish(ending, "w1", status: .cancelled)
            #expect(try await bench.job("j")["state"] == "cancelled")
            #expect(try await bench.call(RedisCommand("EXISTS", bench.keys.base + "again_managed")).integer == 0)
        }
    }

    @Test func managementIsSpacedBelowThreeThousandASecond() async throws {
        try await withBench { bench in
            let first = try await bench.call(FunctionLibrary.manage(bench.keys, count: 1_000)).integer
            #expect(first == 0)
            // Half a second more, and once more where this test was so slow that even that was over.
            var second: Int64 = 0
            for _ in 0..<20 where second == 0 {
                _ = try await bench.call(RedisCommand("HINCRBY", bench.keys.base + "ctl", "managed_at", "500"))
                second = try #require(try await bench.call(FunctionLibrary.manage(bench.keys, count: 1_000)).integer)
            }
            #expect((1...917).contains(second))
            // A clock that was set back does not shut it for hours.
            _ = try await bench.call(RedisCommand("HINCRBY", bench.keys.base + "ctl", "managed_at", "3600000"))
            let third = try await bench.call(FunctionLibrary.manage(bench.keys, count: 1)).integer
            #expect(third == 0)
        }
    }

    @Test func connectionsOfAllWorkersAreCountedTogetherAndSpaced() async throws {
        try await withBench { bench in
            func ask(_ worker: String, open: Int) async throws -> Int64? {
                try await bench.call(FunctionLibrary.connect(bench.keys, worker: worker, open: open, wantsMore: true))
                    .integer
            }
            let first = try await ask("w1", open: 0)
            #expect(first == 0)
            // As if no time had passed since, and once more where the machine was so slow that even that was over.
            var second: Int64 = 0
            for _ in 0..<20 where second == 0 {
                _ = try await bench.call(RedisCommand("HINCRBY", bench.keys.base + "ctl", "connect_at", "700"))
                second = try #require(try await ask("w2", open: 0))
            }
            #expect((1...860).contains(second))
            _ = try await bench.call(RedisCommand("HDEL", bench.keys.base + "ctl", "connect_at"))
            _ = try await bench.call(
                FunctionLibrary.connect(bench.keys, worker: "w2", open: 2_499, wantsMore: false)
            )
            let full = try await ask("w1", open: 1)
            #expect(full == 1_000)
            try await bench.declareDead("w2")
            let freed = try await ask("w1", open: 1)
            #expect(freed == 0, "a dead worker has no connections")
            // A late report of a dead worker is not stored: it would be counted for ever.
            let late = FunctionLibrary.connect(bench.keys, worker: "w2", open: 2_499, wantsMore: false)
            #expect(try await bench.call(late).integer == 1_000)
            let asked = try await ask("w2", open: 2_499)
            #expect(asked == 1_000)
            let counted = try await bench.map(RedisCommand("HGETALL", bench.keys.base + "connections"))
            #expect(counted == ["w1": "2"])
        }
    }
}
