import FanfareCore
import FanfareModel
import RedisTransport
import StreamWire
import TestSupport
import Testing

/// The job field `send_window`: when a job's sends, retries too, may begin.
@Suite struct GuardWindowTests {
    private static let startMs = GuardBench.startMs
    private static let open = WindowTimes(opensMs: startMs - 1_000, closesMs: startMs + 10_000, reason: "opens today")
    private static let closed = WindowTimes(
        opensMs: startMs + 5_000,
        closesMs: startMs + 9_000,
        reason: "opens at five"
    )

    private func intake(_ guards: GuardBench, _ count: Int, _ window: WindowTimes) async throws {
        try await guards.intake("a", count, window: window) { $0.sendWindow = "09:00-21:00 Europe/Madrid" }
    }

    private func setWindow(_ guards: GuardBench, opens: Int64, closes: Int64) async throws -> [String] {
        let times = WindowTimes(
            opensMs: Self.startMs + opens,
            closesMs: Self.startMs + closes,
            reason: "opens tomorrow"
        )
        return try await guards.bench.words(FunctionLibrary.setWindow(guards.keys, job: "a", times))
    }

    @Test(arguments: [5, 1_500]) func jobWaitsOutsideItsWindowWithTheReason(_ count: Int) async throws {
        try await withGuardBench { guards in
            try await intake(guards, count, Self.closed)
            let reply = try await guards.bench.claim("w1")
            #expect(reply.claims.isEmpty && reply.nextDueMs == Self.closed.opensMs && reply.closedWindow == nil)
            #expect(try await guards.state("a") == ["waiting", "opens at five"])
            try await guards.advance(5_000)
            let claims = try await guards.claims()
            #expect(claims.map(\.closesMs) == Array(repeating: Self.closed.closesMs, count: count > 1_000 ? 2 : 1))
            #expect(try await guards.state("a") == ["active", nil])
        }
    }

    @Test func jobOutsideItsWindowLeavesTheSlotToAnother() async throws {
        try await withGuardBench { guards in
            try await intake(guards, 2_500, Self.open)
            _ = try await guards.bench.claim("w1", most: 1)
            try await guards.bench.intake("b", tokens(1_500))
            try await guards.advance(10_000)
            #expect(try await guards.claims("w2").map(\.job) == ["b", "b"])
        }
    }

    @Test func workerIsAskedForTheNextSpanOfAClosedWindow() async throws {
        try await withGuardBench { guards in
            try await intake(guards, 2_500, Self.open)
            _ = try await guards.bench.claim("w1", most: 1)
            try await guards.advance(10_000)
            let reply = try await guards.bench.claim("w2")
            #expect(reply.claims.isEmpty)
            let asked = try #require(reply.closedWindow)
            #expect(asked.job == "a" && asked.window == "09:00-21:00 Europe/Madrid")
            #expect(try await setWindow(guards, opens: 20_000, closes: 30_000) == ["ok"])
            #expect(try await guards.state("a") == ["waiting", "opens tomorrow"])
            let later = try await guards.bench.claim("w2")
            #expect(later.closedWindow == nil && later.claims.isEmpty && later.nextDueMs == Self.startMs + 20_000)
            try await guards.advance(10_000)
            #expect(try await guards.claims("w2").map(\.batch) == ["1", "2"])
        }
    }

    @Test func dueRetriesAreHeldUntilTheWindowOpens() async throws {
        try await withGuardBench { guards in
            try await intake(guards, 3, Self.open)
            var batch = GuardedBatch(try #require(try await guards.claims().first))
            try await batch.record([(0, .sent), (1, .retryable), (2, .retryable)], finish: true, in: guards.bench)
            #expect(try await guards.state("a") == ["retrying", nil])
            try await guards.advance(10_000)
            #expect(try await guards.claims().isEmpty)
            #expect(try await guards.bench.call(RedisCommand("ZCARD", guards.keys.base + "held:a")).integer == 2)
            _ = try await setWindow(guards, opens: 20_000, closes: 30_000)
            #expect(try await guards.state("a") == ["waiting", "opens tomorrow"])
            try await guards.advance(10_000)
            let retry = try #require(try await guards.claims().first)
            #expect(retry.recipients.map(\.index) == [1, 2] && retry.closesMs == Self.startMs + 30_000)
            #expect(try await guards.state("a") == ["retrying", nil])
        }
    }

    @Test func batchGivenBackOutsideTheWindowWaitsWithTheReason() async throws {
        try await withGuardBench { guards in
            try await intake(guards, 300, Self.open)
            var batch = GuardedBatch(try #require(try await guards.claims().first))
            try await batch.record(0..<10, in: guards.bench)
            try await guards.advance(10_000)
            // Outside the window no watermark is raised.
            #expect(try await batch.record(10..<20, asking: 256, in: guards.bench).watermark == 128)
            try await batch.release(guards)
            #expect(try await guards.claims("w2").isEmpty)
            _ = try await setWindow(guards, opens: 20_000, closes: 30_000)
            #expect(try await guards.state("a") == ["waiting", "opens tomorrow"])
            try await guards.advance(10_000)
            let again = try #require(try await guards.claims("w2").first)
            #expect(again.deliveries == 2 && again.closesMs == Self.startMs + 30_000)
        }
    }

    @Test func broadcastWaitsForItsWindow() async throws {
        try await withGuardBench { guards in
            let entry = try #require(
                try await guards.bench.call(RedisCommand("XADD", guards.keys.jobs, "*", "x", "1")).string
            )
            var job = Job(id: "a", hasOwnID: true, entryID: entry, target: .topic("news"), message: Array("{}".utf8))
            job.guards.sendWindow = "09:00-21:00 Europe/Madrid"
            var call = guards.bench.intakeCall(job, taker: "w1")
            call.windowTimes = Self.closed
            _ = try await guards.bench.call(call.command(guards.keys))
            #expect(try await guards.claims().isEmpty)
            #expect(try await guards.state("a") == ["waiting", "opens at five"])
            try await guards.advance(5_000)
            #expect(try await guards.claims().map(\.job) == ["a"])
        }
    }

    @Test func setWindowOfAJobThatIsOverChangesNothing() async throws {
        try await withGuardBench { guards in
            try await intake(guards, 1, Self.open)
            try await guards.bench.finish(try #require(try await guards.claims().first), "w1")
            #expect(try await setWindow(guards, opens: 20_000, closes: 30_000) == ["gone"])
            #expect(try await guards.bench.call(RedisCommand("EXISTS", guards.keys.base + "spec:a")).integer == 0)
        }
    }

    @Test func jobExpiresOutsideItsWindow() async throws {
        try await withGuardBench { guards in
            try await intake(guards, 1_500, Self.closed)
            _ = try await guards.claims()
            let at = String(Self.startMs + 1_000)
            _ = try await guards.bench.call(RedisCommand("ZADD", guards.keys.base + "expiring", at, "a"))
            try await guards.advance(1_000)
            let claims = try await guards.claims() + guards.claims()
            #expect(claims.map(\.ending) == ["expired", "expired"])
        }
    }

    @Test func pausedJobIsNotQueuedWhenItsWindowOpens() async throws {
        try await withGuardBench { guards in
            try await intake(guards, 1_500, Self.closed)
            _ = try await guards.claims()
            try await guards.pause("a")
            try await guards.advance(5_000)
            #expect(try await guards.claims().isEmpty)
            #expect(try await guards.resume("a") == ["ok", "waiting"])
            #expect(try await guards.claims().count == 2)
        }
    }
}
