import FleetSimulation
import Testing

/// Simulations of a fleet while FCM refuses a share of the sends with 503 and Retry-After.
@Suite struct LoadSimulationTests {
    private func firstPass(_ share: Double, seed: UInt64) -> Double {
        let (violation, tally) = Simulation(refusedShare: share, seed: seed).run()
        #expect(violation == nil)
        return Double(tally.firstPass)
    }

    @Test(arguments: [UInt64(1), 2]) func refusalsSlowTheFirstPassWithinBounds(_ seed: UInt64) {
        let clean = firstPass(0, seed: seed)
        for (share, most) in [(0.0005, 1.1), (0.005, 1.3), (0.05, 2.0)] {
            let ratio = firstPass(share, seed: seed) / clean
            #expect(ratio <= most, "\(share): \(ratio)")
        }
    }

    /// The referee limits the sends of each second under overload; the fan-out still ends.
    @Test(arguments: [UInt64(1), 2, 3]) func halfRefusedAnswersStillFinishTheFanout(_ seed: UInt64) {
        let (violation, tally) = Simulation(refusedShare: 0.5, seed: seed).run()
        #expect(violation == nil && tally.holds > 2 && tally.results == 8_000)
    }

    @Test(arguments: [(Mutation.holdOnOneRefusal, 0.005), (.climbUnanswered, 0.5)])
    func omittedRuleIsDetected(_ mutation: Mutation, share: Double) {
        #expect(Simulation(refusedShare: share, seed: 1, mutation: mutation).run().violation != nil)
    }
}
