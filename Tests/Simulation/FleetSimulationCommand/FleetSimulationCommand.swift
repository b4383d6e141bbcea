internal import ArgumentParser
internal import FleetSimulation

@main
struct FleetSimulationCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fleet-simulation",
        abstract: "Simulates fleets in virtual time from many seeds and checks the delivery rules."
    )

    @Option(help: "Number of seeds to run.")
    var seeds = 10_000

    @Option(help: "The first seed.")
    var first: UInt64 = 1

    @Option(help: "Run only this seed.")
    var seed: UInt64?

    @Flag(help: "With --seed: print every call.")
    var trace = false

    @Flag(help: "200 workers, 50 projects, 1,000 fan-outs.")
    var large = false

    @Flag(help: "Simulate one fan-out per share of 503 with Retry-After, and compare with a clean run.")
    var load = false

    @Option(help: "Omit a rule, to see it detected: \(Mutation.allCases.map(\.rawValue).joined(separator: ", ")).")
    var mutation: String?

    @Option(help: "Number of threads.")
    var threads = 2

    func validate() throws {
        if let mutation, Mutation(rawValue: mutation) == nil {
            throw ValidationError("--mutation: unknown rule '\(mutation)'; --help lists all rules.")
        }
    }

    func run() throws {
        if load { return try runLoads() }
        let clock = ContinuousClock()
        let began = clock.now
        let seeds = seed.map { [$0] } ?? Array(first..<first + UInt64(max(0, seeds)))
        let trace: ((String) -> Void)? = trace && seed != nil ? { print($0) } : nil
        let sum = SeedRun.run(
            seeds,
            isLarge: large,
            mutation: mutation.flatMap { Mutation(rawValue: $0) },
            threads: trace == nil ? threads : 1,
            trace: trace
        )
        print(sum.text)
        print("\(seeds.count) seeds in \((clock.now - began).formatted)")
        for failure in sum.failures.prefix(20) {
            print("seed \(failure.seed): \(failure.violation)")
        }
        if !sum.failures.isEmpty {
            print("\(sum.failures.count) seeds failed; replay one with --seed N\(large ? " --large" : "") --trace")
            throw ExitCode.failure
        }
    }
}

extension FleetSimulationCommand {
    private func runLoads() throws {
        var clean = 0.0
        for share in [0, 0.0005, 0.005, 0.05, 0.5] {
            var sum = 0.0
            var holds = 0
            for seed in first..<first + 10 {
                let (violation, tally) = Simulation(refusedShare: share, seed: seed).run()
                if let violation {
                    print("seed \(seed): \(violation)")
                    throw ExitCode.failure
                }
                sum += Double(tally.firstPass) / 10_000_000
                holds += tally.holds
            }
            if share == 0 { clean = sum }
            let ratio = ((sum / clean) * 100).rounded() / 100
            print("\(100 * share) %: \((sum * 10).rounded() / 10) s, \(ratio) times, \(holds) holds in 10 runs")
        }
    }
}

extension Duration {
    fileprivate var formatted: String {
        let milliseconds = components.seconds * 1_000 + components.attoseconds / 1_000_000_000_000_000
        return "\(milliseconds / 1_000).\(milliseconds % 1_000 / 100) s"
    }
}
