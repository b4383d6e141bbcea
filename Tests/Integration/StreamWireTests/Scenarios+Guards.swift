import FanfareCore
import FanfareModel
import RedisTransport
import StreamWire
import TestSupport
import Testing

/// Jobs with guards, in libraries whose batches hold eight recipients.
extension Scenario {
    static let canaries = Scenario("canaries") { run in
        run.outcome = { _, index, attempts in index == 2 && attempts == 0 ? .retry : .status(.sent) }
        for (id, waitMs) in [("c", nil), ("w", 1)] as [(String, Int64?)] {
            var job = try await run.pushList(id, 20)
            job.guards.canary = "20%"
            job.guards.canaryWaitMs = waitMs
            // A rate that never makes it wait.
            job.guards.ratePerMinute = 600_000
            try await run.intake(job)
        }
        try await run.workGuarded(rounds: 4)
        let state = try await run.bench.job("c")
        #expect(state["state"] == "paused" && state["reason"] == "canary")
        try await run.call(FunctionLibrary.resume(run.bench.keys, job: "c"))
        try await run.workGuarded(rounds: 8)
        let sent = Array(repeating: RecordCall.Status.sent, count: 20)
        return ["c": sent, "w": sent]
    }

    static let stopAndWindow = Scenario("stop_if and window") { run in
        let keys = run.bench.keys
        run.outcome = { job, index, _ in .status(job == "s" && index < 3 ? .failed : .sent) }
        var stopped = try await run.pushList("s", 10)
        stopped.guards.canary = "3"
        stopped.guards.stopIf = "failed>50%"
        try await run.intake(stopped)
        try await run.workGuarded(rounds: 2)
        #expect(try await run.bench.job("s")["reason"] == "stop_if: failed 100% of 3, more than 50%")
        try await run.call(FunctionLibrary.resume(keys, job: "s"))
        try await run.workGuarded(rounds: 3)

        var timed = try await run.push("t", tokens(3))
        timed.guards.sendWindow = "09:00-21:00 UTC"
        var intake = run.bench.intakeCall(timed, taker: nil)
        intake.windowTimes = WindowTimes(opensMs: 1, closesMs: 2, reason: "opens")
        try await run.call(intake.command(keys), claimer: "w1")
        let closed = try await run.claim()
        #expect(closed.closedWindow?.job == "t" && closed.claims.isEmpty)
        let times = WindowTimes(opensMs: 1, closesMs: 4_000_000_000_000, reason: "opens")
        try await run.call(FunctionLibrary.setWindow(keys, job: "t", times))
        try await run.workGuarded(rounds: 3)
        return ["s": (0..<10).map { $0 < 3 ? .failed : .sent }, "t": [.sent, .sent, .sent]]
    }
}

extension FaultRun {
    /// Claims, sends below each batch's watermark, and gives back what guards do not allow.
    func workGuarded(rounds: Int) async throws {
        for _ in 0..<rounds {
            for claim in try await claim(window: 3).claims { try await sendGuarded(claim) }
        }
    }

    private func sendGuarded(_ claim: Claim) async throws {
        var (watermark, done, number) = (claim.watermark, 0, 0)
        while true {
            number += 1
            let part = claim.recipients.indices.filter { (done..<watermark).contains($0) }
                .map { claim.recipients[$0] }.filter { $0.progress != .settled }
            done = max(done, min(watermark, claim.recipients.count))
            var record = RecordCall(job: claim.job, batch: claim.batch, epoch: claim.epoch)
            record.number = number
            record.finish = done == claim.recipients.count
            record.allSent = record.finish
            record.watermark = record.finish ? nil : watermark + 3
            var results: [OneResult] = []
            for recipient in part { note(recipient, of: claim, &record, &results) }
            record.results = ResultBuffer(results)
            record.firstAttempts = part.filter { $0.history.attempts == 0 }.map { recipient in
                let isRetried = record.retries.contains { $0.index == recipient.index }
                let isFailed = results.contains { $0.index == recipient.index && $0.status == .failed }
                return (isRetried ? FirstAttempt.retryable : isFailed ? .failed(.unregistered) : .sent).letter
            }
            let value = try await call(record.command(bench.keys, worker: "w1"))
            guard case .ok(let guarded)? = RecordReply(value), !record.finish else { return }
            let granted = guarded.watermark ?? watermark + 3
            guard granted > watermark else { break }
            watermark = granted
        }
        try await call(FunctionLibrary.release(bench.keys, worker: "w1", batch: claim.name, epoch: claim.epoch))
    }
}
