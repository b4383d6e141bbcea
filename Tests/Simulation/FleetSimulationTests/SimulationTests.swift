import FleetSimulation
import Testing

@Suite struct SimulationTests {
    @Test func everyRuleHoldsWhateverFails() {
        let sum = SeedRun.run(Array(1...40), threads: 2)
        #expect(sum.failures.map { "seed \($0.seed): \($0.violation)" } == [])
        // The runs are worth something only if what they are about happens in them.
        #expect(sum.tally.crashes > 20 && sum.tally.buried > 20 && sum.tally.rollbacks > 2 && sum.tally.holds > 2)
        #expect(sum.tally.activations > 80 && sum.tally.preemptions > 0 && sum.tally.repeats > 10)
        #expect(sum.tally.failedCalls > 5 && sum.tally.repeatedEntries > 0)
        #expect(sum.tally.slowestHandOver > 0 && sum.tally.slowestHandOver <= 100_000)
    }

    @Test(arguments: [UInt64(7), 22]) func aSeedReplaysToTheSameEnd(_ seed: UInt64) {
        let first = Simulation(seed: seed).run()
        let second = Simulation(seed: seed).run()
        #expect(first.tally == second.tally && first.violation == second.violation)
    }

    /// A rule that is left out, and a seed whose run must notice it. When other things are drawn than before, the seed
    /// is found anew by `ops/simulate --mutation NAME`.
    @Test(arguments: [
        (Mutation.acceptOldEpochs, UInt64(699)), (.activateOneMore, 28), (.newestFirst, 28), (.keepSlotForAnswers, 148),
        (.keepSlotForTail, 545), (.aimedWithoutTurn, 293), (.lendTooMuch, 85), (.keepPermits, 1_284), (.ignoreHold, 4),
        (.ignoreNews, 223), (.sendPastLease, 157), (.forgetDoubt, 24), (.repeatAtMostOnce, 451), (.loseOrphans, 31),
        (.writeTwice, 52), (.singlesLast, 16), (.forgetCrashes, 8), (.runAimedSuspects, 61),
        (.acceptOldConnections, 730), (.registerAgain, 800), (.closeUnchecked, 58), (.refusedWithoutProof, 24),
        (.markBeforeWrite, 52),
    ])
    func aRuleThatIsLeftOutIsNoticed(_ mutation: Mutation, seed: UInt64) {
        #expect(Simulation(seed: seed, mutation: mutation).run().violation != nil)
        #expect(Simulation(seed: seed).run().violation == nil)
    }
}
