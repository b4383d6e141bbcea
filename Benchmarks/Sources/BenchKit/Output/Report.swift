internal import Foundation

/// A scenario's outcome.
struct Report: Encodable {
    struct Side: Encodable {
        let name: String
        let summary: String
        let measures: [String: Statistics]
        let runs: [RunSample]
    }

    let scenario: String
    let parameters: [String: Int]
    let startedAt: String
    let sides: [Side]
    let ratios: [Ratio]
    var goals: [Goal]
    /// What to know when reading the figures: what was left out, and why.
    let notes: [String]
    private let measures: [Measure]

    /// - Parameters:
    ///   - compare: what is compared, as names of contenders: the first over the second.
    ///   - measures: the columns of the table, and what is computed.
    init(
        scenario: String,
        parameters: [String: Int],
        startedAt: Date,
        contenders: [any Contender],
        runs: [String: [RunSample]],
        measures: [Measure] = Measure.common,
        compare: [(Measure, String, String)],
        notes: [String] = []
    ) {
        self.scenario = scenario
        self.parameters = parameters
        self.startedAt = startedAt.formatted(.iso8601)
        self.measures = measures
        self.notes = notes
        goals = []
        sides = contenders.map { contender in
            let samples = runs[contender.name] ?? []
            var figures: [String: Statistics] = [:]
            for measure in measures { figures[measure.name] = Statistics(samples.compactMap(measure.value)) }
            return Side(name: contender.name, summary: contender.summary, measures: figures, runs: samples)
        }
        ratios = compare.compactMap { Ratio($0.0, of: $0.1, to: $0.2, in: runs) }
    }

    /// The median of a measure; nil where it was not measured.
    func median(_ measure: Measure, of side: String) -> Double? {
        statistics(measure, of: side)?.median
    }

    /// The largest value of a measure; nil where it was not measured.
    func largest(_ measure: Measure, of side: String) -> Double? {
        statistics(measure, of: side)?.max
    }

    private func statistics(_ measure: Measure, of side: String) -> Statistics? {
        sides.first { $0.name == side }?.measures[measure.name]
    }

    /// The median over the rounds of one side's figure over the other's; nil where a side did not run.
    func ratio(_ measure: Measure, _ numerator: String, _ denominator: String) -> Double? {
        ratios.first {
            $0.measure == measure.name && $0.numerator == numerator && $0.denominator == denominator
        }?.byRound.median
    }

    func with(goals: [Goal]) -> Report {
        var report = self
        report.goals = goals
        return report
    }

    func table() -> String {
        let settings = parameters.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
        var lines = ["\(scenario): " + settings.joined(separator: ", ")]
        for side in sides { lines.append("\(side.name): \(side.summary)") }
        lines.append("")
        let columns = measures.filter { measure in sides.contains { $0.measures[measure.name] != nil } }
        var rows = [["median (min–max)"] + columns.map(\.heading)]
        for side in sides {
            rows.append(
                [side.name]
                    + columns.map { column in
                        side.measures[column.name].map { Self.spread($0, decimals: column.decimals) } ?? ""
                    }
            )
        }
        lines += TextTable.lines(rows)
        if !ratios.isEmpty {
            let comparisons = ratios.map { ratio in
                [ratio.name, Self.spread(ratio.byRound, decimals: 2), Self.number(ratio.ofMedians, 2)]
            }
            lines += [""] + TextTable.lines([["ratio", "by round", "of medians"]] + comparisons)
        }
        if !notes.isEmpty { lines += [""] + notes.map { "note: \($0)" } }
        return lines.joined(separator: "\n")
    }

    private static func spread(_ value: Statistics, decimals: Int) -> String {
        guard value.count > 1 else { return number(value.median, decimals) }
        return "\(number(value.median, decimals)) (\(number(value.min, decimals))–\(number(value.max, decimals)))"
    }

    private static func number(_ value: Double, _ decimals: Int) -> String {
        String(format: "%.\(decimals)f", value)
    }

    private enum CodingKeys: CodingKey { case scenario, parameters, startedAt, sides, ratios, goals, notes }
}
