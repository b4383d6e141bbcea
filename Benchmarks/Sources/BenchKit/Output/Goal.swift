internal import Foundation

/// Where a figure must stand.
struct Goal: Encodable, Equatable {
    enum Bound: Encodable, Equatable {
        case atMost(Double)
        case atLeast(Double)

        func holds(_ figure: Double) -> Bool {
            switch self {
            case .atMost(let limit): figure <= limit
            case .atLeast(let limit): figure >= limit
            }
        }

        func text(_ number: (Double) -> String) -> String {
            switch self {
            case .atMost(let limit): "at most \(number(limit))"
            case .atLeast(let limit): "at least \(number(limit))"
            }
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: Key.self)
            switch self {
            case .atMost(let limit): try container.encode(limit, forKey: .atMost)
            case .atLeast(let limit): try container.encode(limit, forKey: .atLeast)
            }
        }

        private enum Key: CodingKey { case atMost, atLeast }
    }

    enum Verdict: String, Encodable { case met, missed, unmeasured = "not measured", unjudged = "run too short" }

    /// What is measured, in words.
    let measure: String
    let bound: Bound
    /// After the number: " ms", " MB", " %".
    let unit: String
    let decimals: Int
    /// nil where this run has no such figure.
    let figure: Double?
    /// Whether the run is long enough to judge the figure.
    var isJudged = true

    init(_ measure: String, _ bound: Bound, unit: String = "", decimals: Int = 2, figure: Double?) {
        self.measure = measure
        self.bound = bound
        self.unit = unit
        self.decimals = decimals
        self.figure = figure
    }

    var verdict: Verdict {
        guard let figure else { return .unmeasured }
        guard isJudged else { return .unjudged }
        return bound.holds(figure) ? .met : .missed
    }

    func row(_ scenario: String) -> [String] {
        [scenario, measure, bound.text(number), figure.map(number) ?? "", verdict.rawValue]
    }

    private func number(_ value: Double) -> String { String(format: "%.\(decimals)f", value) + unit }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(measure, forKey: .measure)
        try container.encode(bound, forKey: .goal)
        try container.encode(unit.trimmingCharacters(in: .whitespaces), forKey: .unit)
        try container.encodeIfPresent(figure, forKey: .figure)
        try container.encode(verdict, forKey: .verdict)
    }

    private enum Key: CodingKey { case measure, goal, unit, figure, verdict }
}
