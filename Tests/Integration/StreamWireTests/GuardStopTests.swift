import FanfareCore
import FanfareModel
import RedisTransport
import StreamWire
import TestSupport
import Testing

/// The job field `stop_if`: judged in the step that records results.
@Suite struct GuardStopTests {
    private func mixed(_ range: Range<Int>, failing every: Int) -> [(position: Int, outcome: FirstAttempt)] {
        range.map { ($0, $0 % every == 0 ? .failed(.unregistered) : .sent) }
    }

    @Test func conditionThatHoldsPausesTheJobWithItsFigure() async throws {
        try await withGuardBench { guards in
            try await guards.intake("a", 2_500) { $0.stopIf = "unknown>1%; failed>5%" }
            var batch = GuardedBatch(try #require(try await guards.claims(window: 5_000).first))
            // One in ten fails, and nothing is judged before a thousand attempts.
            #expect(try await batch.record(mixed(0..<999, failing: 10), in: guards.bench).paused == nil)
            let last = try await batch.record(999..<1_000, in: guards.bench)
            #expect(last.paused == .stopIf && last.reason == "stop_if: failed 10% of 1000, more than 5%")
            #expect(try await guards.state("a") == ["paused", last.reason])
            #expect(try await guards.claims("w2").isEmpty)
            #expect(try await guards.bench.active() == [])
        }
    }

    @Test func noWatermarkIsRaisedFromTheStepThatPausesTheJob() async throws {
        try await withGuardBench { guards in
            try await guards.intake("a", 3_500) { $0.stopIf = "failed>5%" }
            let claims = try await guards.claims(window: 500)
            var (first, second) = (GuardedBatch(claims[0]), GuardedBatch(claims[1]))
            try await first.record(0..<500, asking: 1_000, in: guards.bench)
            try await first.record(mixed(500..<999, failing: 5), in: guards.bench)
            let stop = try await first.record([(999, .sent)], asking: 1_000, in: guards.bench)
            #expect(stop.paused == .stopIf)
            let asked = try await second.record(0..<1, asking: 628, in: guards.bench)
            #expect(asked.watermark == 500 && asked.waitMs > 0)
            // The repeated call of the step is answered alike, and pauses nothing a second time.
            let marks = try await guards.bench.call(RedisCommand("XLEN", guards.keys.base + "marks")).integer
            #expect(marks == 1)
        }
    }

    @Test func watermarkAskedForInTheSameStepIsNotRaised() async throws {
        try await withGuardBench { guards in
            try await guards.intake("a", 3_500) { $0.stopIf = "failed>5%" }
            let claims = try await guards.claims(window: 500)
            var (first, second) = (GuardedBatch(claims[0]), GuardedBatch(claims[1]))
            try await first.record(0..<500, asking: 1_000, in: guards.bench)
            try await first.record(mixed(500..<900, failing: 3), in: guards.bench)
            let stop = try await second.record(mixed(0..<100, failing: 2), asking: 628, in: guards.bench)
            #expect(stop.paused == .stopIf && stop.watermark == 500)
        }
    }

    @Test func retriesOfAStoppedJobAreHeld() async throws {
        try await withGuardBench { guards in
            try await guards.intake("a", 2_500) { $0.stopIf = "failed>5%" }
            var batch = GuardedBatch(try #require(try await guards.claims(window: 5_000).first))
            try await batch.record(0..<10, .retryable, in: guards.bench)
            try await batch.record(10..<1_000, .failed(.unregistered), finish: true, in: guards.bench)
            #expect(try await guards.claims("w2").isEmpty)
            _ = try await guards.resume("a")
            #expect(try await guards.claims("w2").contains { $0.pass == .retry })
        }
    }

    @Test func resumeClearsTheSampleAndArmsTheConditionsAgain() async throws {
        try await withGuardBench { guards in
            try await guards.intake("a", 5_000) { $0.stopIf = "failed>5%" }
            let claims = try await guards.claims(window: 5_000)
            var batch = GuardedBatch(claims[0])
            try await batch.record(0..<1_000, .failed(.unregistered), finish: true, in: guards.bench)
            #expect(try await guards.resume("a") == ["ok", "waiting"])
            #expect(try await guards.field("sample", of: "a") == nil)
            var next = GuardedBatch(claims[1])
            try await next.record(0..<990, in: guards.bench)
            // Ten failures of a thousand: the earlier ones are forgotten.
            #expect(try await next.record(990..<1_000, .failed(.unspecified), in: guards.bench).paused == nil)
            var last = GuardedBatch(claims[2])
            let stop = try await last.record(0..<41, .failed(.unspecified), in: guards.bench)
            #expect(stop.reason == "stop_if: failed 5.1% of 1000, more than 5%")
        }
    }

    @Test(arguments: [1, 7, 400]) func canaryOfAnySizeIsJudged(_ size: Int) async throws {
        try await withGuardBench { guards in
            try await guards.intake("a", 1_500) {
                $0.canary = String(size)
                $0.stopIf = "failed>5%"
            }
            var batch = GuardedBatch(try #require(try await guards.claims(window: 5_000).first))
            #expect(batch.watermark == size)
            let stop = try await batch.record(0..<size, .failed(.unregistered), in: guards.bench)
            #expect(stop.paused == .stopIf && stop.reason == "stop_if: failed 100% of \(size), more than 5%")
            try await batch.release(guards)
            // Once it is resumed it continues after its canary.
            #expect(try await guards.resume("a") == ["ok", "waiting"])
            #expect(try await guards.claims("w2", window: 5_000).map(\.batch) == ["0", "1"])
        }
    }

    @Test func goodCanaryWithAWaitGoesOnAndABadOneDoesNot() async throws {
        for (outcome, goesOn) in [(FirstAttempt.sent, true), (.failed(.unregistered), false)] {
            try await withGuardBench { guards in
                try await guards.intake("a", 1_500) {
                    $0.canary = "10"
                    $0.canaryWaitMs = 1_000
                    $0.stopIf = "failed>5%"
                }
                var batch = GuardedBatch(try #require(try await guards.claims().first))
                try await batch.record(0..<10, outcome, in: guards.bench)
                try await batch.release(guards)
                try await guards.advance(1_500)
                #expect(try await guards.claims("w2").isEmpty != goesOn)
            }
        }
    }

    @Test func badCanaryThatEndsWhileTheJobIsPausedShowsItsFigure() async throws {
        try await withGuardBench { guards in
            try await guards.intake("a", 1_500) {
                $0.canary = "10"
                $0.stopIf = "failed>5%"
            }
            var batch = GuardedBatch(try #require(try await guards.claims().first))
            try await guards.pause("a")
            try await batch.record(0..<10, .failed(.unregistered), in: guards.bench)
            #expect(try await guards.state("a") == ["paused", "stop_if: failed 100% of 10, more than 5%"])
            try await batch.release(guards)
            #expect(try await guards.resume("a") == ["ok", "waiting"])
            #expect(try await guards.claims("w2").map(\.batch) == ["0", "1"])
        }
    }

    @Test func smallJobWithoutACanaryIsNotJudged() async throws {
        try await withGuardBench { guards in
            try await guards.intake("a", 900) { $0.stopIf = "failed>0.1%" }
            var batch = GuardedBatch(try #require(try await guards.claims(window: 5_000).first))
            try await batch.record(0..<900, .failed(.unregistered), finish: true, in: guards.bench)
            #expect(try await guards.bench.job("a")["state"] == "done")
        }
    }
}
