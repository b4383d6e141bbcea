import FanfareCore
import FanfareModel
import RedisTransport
import StreamWire
import TestSupport
import Testing

/// Redis and the model of the simulation judge the same samples alike.
@Suite struct GuardOracleTests {
    /// Conditions of random measures and limits, in a random order.
    private func conditions(_ dice: inout SplitMix64) -> String {
        let measures = StopMeasure.allCases.shuffled(using: &dice).prefix(Int.random(in: 1...4, using: &dice))
        return measures.map { measure in
            let limit = Int.random(in: 1...999, using: &dice)
            // Low limits are the usual ones.
            let tenths = Bool.random(using: &dice) ? max(1, limit / 10) : limit
            return "\(measure.rawValue) > \(tenths / 10).\(tenths % 10)%"
        }
        .joined(separator: ";")
    }

    /// Outcomes of which most are sent, and the others of a few kinds.
    private func attempts(_ count: Int, _ dice: inout SplitMix64) -> [FirstAttempt] {
        let kinds = FirstAttempt.all.shuffled(using: &dice).prefix(3)
        let share = Double.random(in: 0...0.3, using: &dice)
        return (0..<count).map { _ in
            Double.random(in: 0..<1, using: &dice) < share ? kinds.randomElement(using: &dice) ?? .sent : .sent
        }
    }

    @Test(arguments: 1...25) func lastThousandAttemptsAreJudgedAlike(_ seed: Int) async throws {
        var dice = SplitMix64(seed: UInt64(seed))
        let text = conditions(&dice)
        let parsed = try StopConditions(Array(text.utf8))
        try await withGuardBench { guards in
            try await guards.intake("a", 4_000) { $0.stopIf = parsed.text }
            var sample = StopSample()
            for claim in try await guards.claims(window: 5_000) {
                var batch = GuardedBatch(claim)
                var from = 0
                while from < 1_000 {
                    let end = min(1_000, from + Int.random(in: 1...700, using: &dice))
                    let part = attempts(end - from, &dice)
                    for attempt in part { sample.record(attempt) }
                    let outcomes = zip(from..<end, part).map { (position: $0, outcome: $1) }
                    let reply = try await batch.record(outcomes, asking: 1_000, in: guards.bench)
                    let finding = sample.finding(parsed, isEndOfCanary: false)
                    #expect(reply.paused == finding.map { _ in .stopIf }, "\(text), seed \(seed)")
                    #expect(reply.reason == finding?.reason ?? "", "\(text), seed \(seed)")
                    if finding != nil {
                        // The sample begins again; the worker's batches are the same.
                        _ = try await guards.resume("a")
                        sample.clear()
                    }
                    from = end
                }
            }
        }
    }

    @Test(arguments: 26...50) func canariesAreJudgedAlike(_ seed: Int) async throws {
        var dice = SplitMix64(seed: UInt64(seed))
        let parsed = try StopConditions(Array(conditions(&dice).utf8))
        let canary = try Canary(Array("\(Int.random(in: 1...600, using: &dice) / 10 + 1)%".utf8))
        try await withGuardBench { guards in
            try await guards.intake("a", 1_700) {
                $0.canary = canary.text
                $0.stopIf = parsed.text
            }
            let size = try #require(canary.count(total: 1_700))
            var sample = StopSample()
            var last = GuardedReply()
            for claim in try await guards.claims(window: 5_000) {
                var batch = GuardedBatch(claim)
                let part = attempts(min(batch.watermark, size), &dice)
                for attempt in part { sample.record(attempt) }
                let outcomes = part.enumerated().map { (position: $0.offset, outcome: $0.element) }
                last = try await batch.record(outcomes, in: guards.bench)
                if last.paused != nil { break }
            }
            let isEnd = sample.attempts.count == size
            let finding = sample.finding(parsed, isEndOfCanary: isEnd)
            #expect(last.paused == (finding == nil ? .canary : .stopIf), "seed \(seed)")
            #expect(last.reason == finding?.reason ?? "canary", "seed \(seed)")
        }
    }

    @Test func everyLetterCountsForTheMeasuresThatTheOracleNames() async throws {
        try await withGuardBench { guards in
            for (number, outcome) in FirstAttempt.all.enumerated() {
                for measure in StopMeasure.allCases {
                    let id = "a\(number)-\(measure.rawValue)"
                    try await guards.intake(id, 1_500) {
                        $0.canary = "1"
                        $0.stopIf = "\(measure.rawValue)>50%"
                    }
                    let claim = try #require(try await guards.claims().first { $0.job == id })
                    var batch = GuardedBatch(claim)
                    let reply = try await batch.record([(0, outcome)], in: guards.bench)
                    #expect(reply.paused == (measure.counts(outcome) ? .stopIf : .canary), "\(outcome) \(measure)")
                    try await guards.cancel(id)
                    try await batch.release(guards)
                    for claim in try await guards.claims("w2") {
                        var open = claim
                        open.recipients = claim.recipients.filter { $0.progress != .settled }
                        try await guards.bench.finish(open, "w2", status: .cancelled)
                    }
                    for claim in try await guards.claims("w2") {
                        try await guards.bench.finish(claim, "w2", status: .cancelled)
                    }
                }
            }
        }
    }
}
