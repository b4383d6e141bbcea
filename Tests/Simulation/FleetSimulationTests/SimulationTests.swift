import FleetSimulation
import Testing

@Suite struct SimulationTests {
    @Test func rulesHoldUnderFailures() {
        let sum = SeedRun.run(Array(1...40), threads: 2)
        #expect(sum.failures.map { "seed \($0.seed): \($0.violation)" } == [])
        // The runs prove nothing unless the disturbances occur in them.
        #expect(sum.tally.crashes > 20 && sum.tally.declaredDead > 20 && sum.tally.rollbacks > 2 && sum.tally.holds > 2)
        #expect(sum.tally.activations > 80 && sum.tally.preemptions > 0 && sum.tally.repeats > 10)
        #expect(sum.tally.failedCalls > 5 && sum.tally.repeatedEntries > 0)
        #expect(sum.tally.stops > 5 && sum.tally.canaries > 5 && sum.tally.yields > 5)
        #expect(sum.tally.slowestHandOver > 0 && sum.tally.slowestHandOver <= 100_000)
    }

    @Test(arguments: [UInt64(7), 22]) func seedReplaysTheSameRun(_ seed: UInt64) {
        let first = Simulation(seed: seed).run()
        let second = Simulation(seed: seed).run()
        #expect(first.tally == second.tally && first.violation == second.violation)
    }

    /// Workers are frozen between any two of their actions. Without the rule, seed 1,212 sends three seconds after a stop.
    @Test func freezesBetweenActionsBreakNoRule() {
        let sum = SeedRun.run([9, 12, 25, 28, 41, 44, 57, 60, 73, 76], threads: 2)
        #expect(sum.failures.map { "seed \($0.seed): \($0.violation)" } == [])
        #expect(sum.tally.freezes > 0)
        let violation = Simulation(seed: 1_212, mutation: .sendAfterFreeze).run().violation ?? ""
        #expect(violation.hasSuffix("after it was stopped"), "\(violation)")
    }

    /// Omitted rules, each with a seed whose run must detect it. If the draws change, `ops/dev/simulate --mutation
    /// NAME` finds a new seed. `RareRuleTests` and `LoadSimulationTests` cover the other rules.
    @Test(arguments: [
        (Mutation.acceptOldEpochs, UInt64(52)), (.activateOneMore, 1), (.newestFirst, 3), (.keepSlotForAnswers, 10),
        (.keepSlotForTail, 193), (.broadcastWithoutTurn, 315), (.lendTooMuch, 6), (.keepPermits, 1_087),
        (.ignoreHold, 13),
        (.ignoreNews, 7), (.sendPastLease, 22), (.forgetDoubt, 21), (.repeatAtMostOnce, 32), (.loseOrphans, 1),
        (.writeTwice, 13), (.singlesLast, 5), (.forgetCrashes, 5), (.runBroadcastSuspects, 61),
        (.registerAgain, 62), (.closeUnchecked, 52), (.refusedWithoutProof, 4),
        (.markBeforeWrite, 19), (.forgetWatermarks, 32), (.ignoreCanary, 14), (.ignoreRate, 11),
    ])
    func omittedRuleIsDetected(_ mutation: Mutation, seed: UInt64) {
        #expect(Simulation(seed: seed, mutation: mutation).run().violation != nil)
        #expect(Simulation(seed: seed).run().violation == nil)
    }
}
