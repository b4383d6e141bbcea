internal import Foundation

/// The most that each figure may be: kept in a file beside the code, one set for each kind of build.
struct CountBudgets: Equatable {
    /// How far a figure is below its budget before the budget is worth lowering.
    static let slack = 0.7

    let file: String
    let kind: String
    let most: [String: Double]

    /// - Parameter kind: `debug` or `release`: a build without optimisation allocates more.
    init(file: String, kind: String) throws {
        guard let data = FileManager.default.contents(atPath: file) else {
            throw BenchError.usage("\(file) cannot be read")
        }
        try self.init(data, file: file, kind: kind)
    }

    init(_ data: Data, file: String, kind: String) throws {
        let sets: [String: [String: Double]]
        do { sets = try JSONDecoder().decode([String: [String: Double]].self, from: data) } catch {
            throw BenchError.usage("\(file): kinds of build, each with numbers by name: \(error)")
        }
        guard let most = sets[kind] else { throw BenchError.usage("\(file) has no budgets for a \(kind) build") }
        let known = Set(CountFigure.all.map(\.name))
        if let unknown = most.keys.sorted().first(where: { !known.contains($0) }) {
            throw BenchError.usage(
                "\(file): \(unknown) is not a figure; there is \(known.sorted().joined(separator: ", "))"
            )
        }
        self.file = file
        self.kind = kind
        self.most = most
    }

    /// A sentence for each figure that is over its budget: what it is, what it may be, and what to do.
    func complaints(about figures: [String: Double]) -> [String] {
        most.sorted { $0.key < $1.key }.compactMap { name, most in
            guard let value = figures[name] else {
                return "\(name): not measured, although \(file) has a budget for it"
            }
            guard value > most else { return nil }
            return """
                \(name) is \(Self.number(value)), and \(Self.number(most)) is the budget (\(file), \(kind)).
                It counts \(CountFigure.named(name)?.meaning ?? "nothing known"). A send costs more than it did: find out \
                where (Performance.md says how to look), or, if it is worth that, raise the budget in the commit that \
                needs it and say why.
                """
        }
    }

    /// Names of figures far below their budgets. A budget of at most 1 has room for short turns: one call serves many
    /// sends, how many follows the machine.
    func worthLowering(for figures: [String: Double]) -> [String] {
        most.keys.sorted().filter { name in
            guard let value = figures[name], let most = most[name], CountFigure.named(name)?.followsTurns == false
            else { return false }
            return most > 1 && value < most * Self.slack
        }
    }

    static func number(_ value: Double) -> String { String(format: value < 100 ? "%.2f" : "%.0f", value) }
}
