internal import Foundation

/// All that one call of the harness found: one JSON document.
struct Record: Encodable {
    struct Failure: Encodable {
        let scenario: String
        let reason: String
    }

    let form: Form
    let machine: Machine
    var scenarios: [Report] = []
    /// Scenarios that ended early, and why.
    var failures: [Failure] = []

    func json() throws -> Data {
        let encoder = JSONEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return try encoder.encode(self)
    }

    /// Where it was measured; every figure is of this machine.
    func heading() -> String {
        """
        \(machine.cores) × \(machine.model), Linux \(machine.kernel), \(machine.system)
        \(machine.curl)
        """
    }

    /// Every goal with its figure and verdict; empty without goals.
    func verdicts() -> String {
        let rows = scenarios.flatMap { report in report.goals.map { $0.row(report.scenario) } }
        guard !rows.isEmpty else { return "" }
        let heading = ["scenario", "measure", "goal", "figure", "verdict"]
        return TextTable.lines([heading] + rows, left: [0, 1, 4]).joined(separator: "\n")
    }
}
