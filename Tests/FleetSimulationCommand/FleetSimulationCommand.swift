internal import ArgumentParser
internal import FleetSimulation

@main
struct FleetSimulationCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fleet-simulation",
        abstract: "Runs the fleet in virtual time from many seeds and checks what must always hold."
    )

    @Option(help: "How many seeds to run.")
    var seeds = 10_000

    @Option(help: "The first of them.")
    var first: UInt64 = 1

    @Option(help: "Run this seed alone.")
    var seed: UInt64?

    @Flag(help: "With --seed: print every call.")
    var trace = false

    @Flag(help: "200 workers, 50 projects, 1,000 fan-outs.")
    var large = false

    @Option(help: "Leave a rule out, to see it noticed: \(Mutation.allCases.map(\.rawValue).joined(separator: ", ")).")
    var mutation: String?

    @Option(help: "Threads.")
    var threads = 2

    func validate() throws {
        if let mutation, Mutation(rawValue: mutation) == nil {
            throw ValidationError("There is no rule '\(mutation)' to leave out.")
        }
    }

    func run() throws {
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

extension Duration {
    fileprivate var formatted: String {
        let milliseconds = components.seconds * 1_000 + components.attoseconds / 1_000_000_000_000_000
        return "\(milliseconds / 1_000).\(milliseconds % 1_000 / 100) s"
    }
}
