import FleetSimulation
import Testing

@Suite struct SimulationTests {
    @Test func everyRuleHolds() {
        let sum = SeedRun.run(Array(1...40), threads: 2)
        #expect(sum.failures.map { "\($0.seed): \($0.violation)" } == [])
    }
}
