import FanfareCore
import FanfareModel
import RedisTransport
import StreamWire
import TestSupport
import Testing

/// The lists of paused jobs, and what `overview` and `fleet` say of them.
@Suite struct PauseListTests {
    private func resting(_ guards: GuardBench) async throws -> RestingJobs {
        let reply = try await guards.bench.call(FunctionLibrary.overview(guards.keys))
        return try #require(OverviewReply(reply)).resting
    }

    private func members(_ list: String, _ guards: GuardBench) async throws -> [String] {
        let reply = try await guards.bench.call(RedisCommand("ZRANGE", guards.keys.base + list, "0", "-1"))
        return (reply.array ?? []).compactMap(\.string)
    }

    /// The ids of `stopped` in the reply of `fleet`, each with `continues_ms`.
    private func stopped(_ guards: GuardBench) async throws -> [[String]] {
        let reply = try await guards.bench.call(FunctionLibrary.fleet(guards.keys, most: 5))
        return try #require(NamedValues(reply)).list("stopped").map { value in
            let fields = try #require(NamedValues(value))
            return [fields.text("id") ?? "", fields.text("continues_ms") ?? ""]
        }
    }

    private func stop(_ id: String, _ guards: GuardBench) async throws {
        try await guards.intake(id, 2_500) { $0.stopIf = "failed>5%" }
        let claim = try #require(try await guards.claims(window: 5_000).first { $0.job == id })
        var batch = GuardedBatch(claim)
        let reply = try await batch.record(0..<1_000, .failed(.unregistered), finish: true, in: guards.bench)
        #expect(reply.paused == .stopIf)
    }

    private func holdBehindCanary(_ id: String, waitMs: Int64? = nil, _ guards: GuardBench) async throws {
        try await guards.intake(id, 1_500) {
            $0.canary = "10"
            $0.canaryWaitMs = waitMs
        }
        var batch = GuardedBatch(try #require(try await guards.claims().first { $0.job == id }))
        #expect(try await batch.record(0..<10, in: guards.bench).paused == .canary)
        try await batch.release(guards)
    }

    @Test func stoppedJobIsListedUntilItIsResumed() async throws {
        try await withGuardBench { guards in
            try await stop("a", guards)
            #expect(try await resting(guards).stoppedByCondition == 1)
            #expect(try await stopped(guards) == [["a", ""]])
            _ = try await guards.resume("a")
            #expect(try await resting(guards) == RestingJobs())
            #expect(try await members("jobs_stopped", guards).isEmpty)
        }
    }

    @Test func stoppedJobIsNamedAmongManyOpenJobs() async throws {
        try await withGuardBench { guards in
            try await stop("a", guards)
            for index in 0..<50 { try await guards.bench.intake("other-\(index)", tokens(1)) }
            #expect(try await stopped(guards) == [["a", ""]])
        }
    }

    @Test func cancelledJobIsNotListed() async throws {
        try await withGuardBench { guards in
            try await stop("a", guards)
            try await guards.cancel("a")
            #expect(try await members("jobs_stopped", guards).isEmpty)
        }
    }

    @Test func canaryIsListedWithTheTimeAfterWhichItContinues() async throws {
        try await withGuardBench { guards in
            try await holdBehindCanary("a", guards)
            try await holdBehindCanary("b", waitMs: 60_000, guards)
            let jobs = try await stopped(guards)
            #expect(jobs.map(\.first) == ["a", "b"] && jobs.first?.last == "")
            #expect((1...60_000).contains(Int(jobs.last?.last ?? "") ?? 0), "\(jobs)")
            #expect(try await resting(guards).atCanary == 2)
            try await guards.advance(60_000)
            #expect(try await members("jobs_stopped", guards) == ["a"])
        }
    }

    @Test func operatorsPauseIsCountedApart() async throws {
        try await withGuardBench { guards in
            try await holdBehindCanary("a", guards)
            try await guards.pause("a")
            #expect(try await resting(guards).paused == 1)
            #expect(try await stopped(guards).isEmpty)
            _ = try await guards.resume("a")
            #expect(try await resting(guards) == RestingJobs())
        }
    }

    @Test func pausedJobThatIsScheduledCountsOnce() async throws {
        try await withGuardBench { guards in
            let laterMs = try await guards.clock() + 3_600_000
            for id in ["a", "b"] { try await guards.bench.intake(id, tokens(1)) { $0.notBefore = laterMs } }
            try await guards.pause("a")
            let resting = try await resting(guards)
            #expect(resting.paused == 1 && resting.scheduled == 1 && resting.all == 2)
        }
    }

    @Test func jobOutsideItsWindowIsCounted() async throws {
        try await withGuardBench { guards in
            let nowMs = try await guards.clock()
            let window = WindowTimes(
                opensMs: nowMs + 3_600_000,
                closesMs: nowMs + 7_200_000,
                reason: "send_window: opens at 09:00"
            )
            try await guards.intake("a", 1_500, window: window) { $0.sendWindow = "09:00-21:00 UTC" }
            #expect(try await guards.claims().isEmpty)
            #expect(try await resting(guards).closed == 1)
        }
    }

    @Test func canaryWhoseWaitEndsOutsideTheWindowWaitsForTheWindow() async throws {
        try await withGuardBench { guards in
            let nowMs = try await guards.clock()
            let open = WindowTimes(opensMs: nowMs - 1, closesMs: nowMs + 5_000, reason: "send_window: opens at 09:00")
            try await guards.intake("a", 1_500, window: open) {
                $0.canary = "10"
                $0.canaryWaitMs = 60_000
                $0.sendWindow = "09:00-21:00 UTC"
            }
            var batch = GuardedBatch(try #require(try await guards.claims().first))
            #expect(try await batch.record(0..<10, in: guards.bench).paused == .canary)
            try await batch.release(guards)
            try await guards.advance(70_000)
            #expect(try await guards.state("a") == ["waiting", "send_window: opens at 09:00"])
            #expect(try await members("jobs_stopped", guards).isEmpty)
        }
    }

    /// A worker of an older version keeps no list.
    @Test func repairCorrectsListsThatAnOlderWorkerDidNotKeep() async throws {
        try await withGuardBench { guards in
            try await stop("a", guards)
            try await guards.bench.intake("b", tokens(1))
            for command in [
                RedisCommand("DEL", guards.keys.base + "jobs_stopped"),
                RedisCommand("ZADD", guards.keys.base + "jobs_paused", "1", "b", "1", "gone"),
            ] { _ = try await guards.bench.call(command) }
            #expect(try await resting(guards) == RestingJobs())
            _ = try await guards.bench.call(FunctionLibrary.repair(guards.keys, cursor: "0", most: 100))
            #expect(try await members("jobs_stopped", guards) == ["a"])
            #expect(try await members("jobs_paused", guards).isEmpty)
        }
    }
}
