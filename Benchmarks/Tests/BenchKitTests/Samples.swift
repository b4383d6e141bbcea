import Foundation

@testable import BenchKit

/// A run of 100,000 sends in four seconds.
func sample(cpu: Double, memory: Double? = nil, figures: [String: Double] = [:]) -> RunSample {
    RunSample(sends: 100_000, wallSeconds: 4, cpuSeconds: cpu, peakMemoryMegabytes: memory, figures: figures)
}

/// A contender of which only the name counts.
struct NamedContender: Contender {
    let name: String
    let summary = "for a test"
    func run(sends: Int) throws -> RunSample { sample(cpu: 1) }
}

/// Sides, and the CPU seconds of their runs.
func report(
    _ sides: [(name: String, cpu: [Double])],
    compare: [(Measure, String, String)] = [],
    notes: [String] = []
) -> Report {
    Report(
        scenario: "test",
        parameters: ["sends": 100_000],
        startedAt: Date(timeIntervalSince1970: 0),
        contenders: sides.map { NamedContender(name: $0.name) },
        runs: Dictionary(uniqueKeysWithValues: sides.map { ($0.name, $0.cpu.map { sample(cpu: $0) }) }),
        compare: compare,
        notes: notes
    )
}
