import FanfareCore
import FanfareModel
import RedisTransport
import StreamWire
import TestSupport
import Testing

/// What operators, times and deaths do to a job that waits after its canary.
@Suite struct GuardHeldCanaryTests {
    /// A job whose canary of ten has ended, and whose first batch went back; with one retry that is due.
    private func withHeldCanary(
        waitMs: Int64? = nil,
        window: WindowTimes? = nil,
        _ body: (GuardBench) async throws -> Void
    ) async throws {
        try await withGuardBench { guards in
            try await guards.intake("a", 1_500, window: window) {
                $0.canary = "10"
                $0.canaryWaitMs = waitMs
                if window != nil { $0.sendWindow = "09:00-21:00 UTC" }
            }
            var batch = GuardedBatch(try #require(try await guards.claims().first))
            try await batch.record((0..<9).map { ($0, .sent) } + [(9, .retryable)], in: guards.bench)
            try await batch.release(guards)
            #expect(try await guards.state("a") == ["paused", "canary"])
            try await body(guards)
        }
    }

    @Test func cancelEndsTheJob() async throws {
        try await withHeldCanary(waitMs: 60_000) { guards in
            try await guards.cancel("a")
            for _ in 0..<3 {
                for claim in try await guards.claims("w2") {
                    var open = claim
                    open.recipients = claim.recipients.filter { $0.progress != .settled }
                    try await guards.bench.finish(open, "w2", status: .cancelled)
                }
            }
            let job = try await guards.bench.job("a")
            #expect(job["state"] == "cancelled" && job["cancelled"] == "1491" && job["sent"] == "9")
            // Its end leaves no time at which something happens to a later job of the same id.
            #expect(try await guards.bench.call(RedisCommand("EXISTS", guards.keys.base + "later")).integer == 0)
        }
    }

    @Test func expiryEndsTheJob() async throws {
        try await withHeldCanary { guards in
            let nowMs = try await guards.clock()
            _ = try await guards.bench.call(
                RedisCommand("ZADD", guards.keys.base + "expiring", String(nowMs), "a")
            )
            var claims = try await guards.claims("w2")
            for _ in 0..<2 { claims += try await guards.claims("w2") }
            #expect(claims.map(\.ending) == ["expired", "expired", "expired"])
            #expect(try await guards.state("a").last == .some(nil))
        }
    }

    @Test func operatorsPauseStopsTheRetriesToo() async throws {
        try await withHeldCanary { guards in
            try await guards.pause("a")
            #expect(try await guards.claims("w2").isEmpty)
            #expect(try await guards.state("a") == ["paused", "paused by an operator"])
            // The operator knows of the canary, so that one call is enough.
            #expect(try await guards.resume("a") == ["ok", "waiting"])
            let claims = try await guards.claims("w2")
            #expect(claims.map(\.batch).contains("0") && claims.map(\.batch).contains("1"))
            #expect(claims.contains { $0.pass == .retry })
        }
    }

    @Test func pauseOfAllJobsLeavesTheCanaryHeld() async throws {
        try await withHeldCanary(waitMs: 60_000) { guards in
            _ = try await guards.bench.call(FunctionLibrary.pause(guards.keys, job: "a", scope: .all))
            #expect(try await guards.resume("a") == ["ok", "paused"])
            #expect(try await guards.state("a") == ["paused", "canary"])
        }
    }

    @Test func endOfTheWaitLiftsNoPauseOfAnOperator() async throws {
        try await withHeldCanary(waitMs: 1_000) { guards in
            try await guards.pause("a")
            try await guards.advance(2_000)
            #expect(try await guards.state("a") == ["paused", "paused by an operator"])
            #expect(try await guards.claims("w2").isEmpty)
            #expect(try await guards.resume("a") == ["ok", "waiting"])
            #expect(try await guards.claims("w2").count == 3)
        }
    }

    @Test func deathOfAWorkerKeepsTheCanaryHeld() async throws {
        try await withGuardBench { guards in
            try await guards.intake("a", 1_500) { $0.canary = "10" }
            var batch = GuardedBatch(try #require(try await guards.claims().first))
            try await batch.record((0..<9).map { ($0, .sent) } + [(9, .retryable)], in: guards.bench)
            // It dies with its batch before it has heard of the pause; a retry of the canary continues.
            try await guards.bench.declareDead("w1")
            let claims = try await guards.claims("w2")
            #expect(claims.map(\.pass) == [.retry])
            #expect(try await guards.resume("a") == ["ok", "waiting"])
            let rest = try await guards.claims("w2")
            #expect(rest.map(\.batch) == ["0", "1"] && rest.first?.deliveries == 2)
        }
    }

    @Test func canaryThatEndsWhileTheJobIsPausedHoldsTheResumedJob() async throws {
        try await withGuardBench { guards in
            try await guards.intake("a", 2_500) { $0.canary = "1000" }
            var batch = GuardedBatch(try #require(try await guards.claims(window: 5_000).first))
            try await guards.pause("a")
            // What was in flight ends.
            try await batch.record(0..<1_000, finish: true, in: guards.bench)
            #expect(try await guards.state("a") == ["paused", "paused by an operator"])
            #expect(try await guards.resume("a") == ["ok", "paused"])
            #expect(try await guards.state("a") == ["paused", "canary"])
            #expect(try await guards.claims("w2").isEmpty)
            #expect(try await guards.resume("a") == ["ok", "waiting"])
            #expect(try await guards.claims("w2").map(\.batch) == ["1", "2"])
        }
    }

    @Test func endOfABlockLeavesTheCanaryHeld() async throws {
        try await withHeldCanary { guards in
            var retry = GuardedBatch(try #require(try await guards.claims("w2").first), "w2")
            var call = retry.call([])
            call.blockReason = "the credential is refused"
            #expect(try await guards.bench.record(call, "w2") == .ok())
            #expect(try await guards.state("a") == ["paused", "the credential is refused"])
            var answer = retry.call([(0, .sent)], finish: true)
            answer.projectAnswers = true
            #expect(try await guards.bench.record(answer, "w2") == .ok())
            #expect(try await guards.state("a") == ["paused", "canary"])
        }
    }

    @Test func openingOfTheWindowEndsNoCanary() async throws {
        let startMs = GuardBench.startMs
        let window = WindowTimes(opensMs: startMs - 1_000, closesMs: startMs + 1_000, reason: "opens")
        try await withHeldCanary(window: window) { guards in
            try await guards.advance(1_500)
            // The retry of the canary is due, and waits for the window.
            #expect(try await guards.claims("w2").isEmpty)
            let next = WindowTimes(opensMs: startMs + 5_000, closesMs: startMs + 60_000, reason: "opens later")
            _ = try await guards.bench.call(FunctionLibrary.setWindow(guards.keys, job: "a", next))
            #expect(try await guards.state("a") == ["paused", "canary"])
            try await guards.advance(4_000)
            let claims = try await guards.claims("w2")
            #expect(claims.map(\.pass) == [.retry])
            #expect(try await guards.state("a") == ["paused", "canary"])
        }
    }

    @Test func newSpanOfTheWindowLeavesTheCanarysWait() async throws {
        let startMs = GuardBench.startMs
        let window = WindowTimes(opensMs: startMs - 1_000, closesMs: startMs + 1_000, reason: "opens")
        try await withHeldCanary(waitMs: 30_000, window: window) { guards in
            let next = WindowTimes(opensMs: startMs + 5_000, closesMs: startMs + 60_000, reason: "opens later")
            _ = try await guards.bench.call(FunctionLibrary.setWindow(guards.keys, job: "a", next))
            try await guards.advance(6_000)
            #expect(try await guards.claims("w2").map(\.pass) == [.retry])
            #expect(try await guards.state("a") == ["paused", "canary"])
            try await guards.advance(24_000)
            #expect(try await guards.claims("w2").map(\.batch) == ["0", "1"])
        }
    }
}
