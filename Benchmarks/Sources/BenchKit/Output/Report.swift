internal import Foundation

/// A scenario's outcome: one JSON document, one table.
struct Report: Encodable {
    struct Side: Encodable {
        let summary: String
        let measures: [String: Statistics]
        let runs: [RunSample]
    }

    let scenario: String
    let parameters: [String: Int]
    let startedAt: String
    let machine: Machine
    let sides: [String: Side]
    let ratios: [Ratio]
    let order: [String]

    /// - Parameter ratios: what is compared, as names of contenders: the first over the second.
    init(
        scenario: String,
        parameters: [String: Int],
        startedAt: Date,
        machine: Machine,
        contenders: [any Contender],
        runs: [String: [RunSample]],
        ratios: [(Measure, String, String)]
    ) {
        self.scenario = scenario
        self.parameters = parameters
        self.startedAt = startedAt.formatted(.iso8601)
        self.machine = machine
        order = contenders.map(\.name)
        var sides: [String: Side] = [:]
        for contender in contenders {
            let samples = runs[contender.name] ?? []
            var measures: [String: Statistics] = [:]
            for measure in Measure.all { measures[measure.name] = Statistics(samples.compactMap(measure.value)) }
            sides[contender.name] = Side(summary: contender.summary, measures: measures, runs: samples)
        }
        self.sides = sides
        self.ratios = ratios.compactMap { Ratio($0.0, of: $0.1, to: $0.2, in: runs) }
    }

    func json() throws -> Data {
        let encoder = JSONEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return try encoder.encode(self)
    }

    func table() -> String {
        var lines = [
            "\(scenario): "
                + parameters.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
                .joined(separator: ", ")
        ]
        lines.append("\(machine.cores) × \(machine.model), Linux \(machine.kernel), \(machine.system)")
        lines.append(machine.curl)
        for name in order { lines.append("\(name): \(sides[name]?.summary ?? "")") }
        lines.append("")
        let measures = Measure.all.filter { measure in sides.values.contains { $0.measures[measure.name] != nil } }
        var rows = [["median (min–max)"] + measures.map(\.heading)]
        for name in order {
            rows.append(
                [name]
                    + measures.map { measure in
                        guard let value = sides[name]?.measures[measure.name] else { return "" }
                        return Self.spread(value, decimals: measure.decimals)
                    }
            )
        }
        lines += TextTable.lines(rows)
        lines.append("")
        let comparisons = ratios.map { ratio in
            [ratio.name, Self.spread(ratio.byRound, decimals: 2), Self.number(ratio.ofMedians, 2)]
        }
        lines += TextTable.lines([["ratio", "by round", "of medians"]] + comparisons)
        return lines.joined(separator: "\n")
    }

    private static func spread(_ value: Statistics, decimals: Int) -> String {
        "\(number(value.median, decimals)) (\(number(value.min, decimals))–\(number(value.max, decimals)))"
    }

    private static func number(_ value: Double, _ decimals: Int) -> String {
        String(format: "%.\(decimals)f", value)
    }
}

enum TextTable {
    /// Columns as wide as they need to be: the first to the left, the others to the right.
    static func lines(_ rows: [[String]]) -> [String] {
        let columns = rows.map(\.count).max() ?? 0
        let widths = (0..<columns).map { column in
            rows.map { column < $0.count ? $0[column].count : 0 }.max() ?? 0
        }
        return rows.map { row in
            row.enumerated().map { column, text in
                let space = String(repeating: " ", count: widths[column] - text.count)
                return column == 0 ? text + space : space + text
            }.joined(separator: "  ")
        }
    }
}
