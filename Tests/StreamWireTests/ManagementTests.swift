import FanfareModel
import StreamWire
import TestSupport
import Testing

/// Jobs without a message, and what FCM takes of them, in a real server.
@Suite struct ManagementTests {
    @Test func aSubscriptionIsNeverAFanOutAndKeepsNobodyWaiting() async throws {
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

    @Test func managementIsSpacedBelowThreeThousandASecond() async throws {
        try await withBench { bench in
            let first = try await bench.call(FunctionLibrary.manage(bench.keys, count: 1_000)).integer
            #expect(first == 0)
            let second = try #require(try await bench.call(FunctionLibrary.manage(bench.keys, count: 1_000)).integer)
            #expect((1...417).contains(second))
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
            let second = try #require(try await ask("w2", open: 0))
            #expect((1...160).contains(second))
            _ = try await bench.call(RedisCommand("HDEL", bench.keys.base + "ctl", "connect_at"))
            _ = try await bench.call(
                FunctionLibrary.connect(bench.keys, worker: "w2", open: 2_499, wantsMore: false)
            )
            let full = try await ask("w1", open: 1)
            #expect(full == 1_000)
            try await bench.bury("w2")
            let freed = try await ask("w1", open: 1)
            #expect(freed == 0, "a dead worker has no connections")
        }
    }
}
