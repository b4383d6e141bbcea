internal import CChild
internal import Foundation

/// `fanfare-bench counts`: what a send costs in calls, held against budgets.
enum CountsCommand {
    static let name = "counts"

    static func main(_ arguments: [String]) throws {
        if arguments.contains("--help") || arguments.contains("-h") { return Console.say(CountsOptions.help) }
        try run(CountsOptions.parse(arguments))
    }

    private static func run(_ options: CountsOptions) throws {
        let budgets = try options.budgets.map { try CountBudgets(file: $0, kind: options.kind) }
        var program = Options()
        program.fanfare = options.fanfare
        let run = CountedRun(
            executable: try Executable.fanfare(program),
            library: try library(),
            sends: options.sends
        )
        cchild_watch_interrupts()
        let workspace = try Workspace()
        defer { workspace.remove() }
        let counts = try run.counts(in: workspace)

        var figures: [String: Double] = [:]
        for figure in CountFigure.all { figures[figure.name] = figure.value(counts, options.sends) }
        Console.say(table(figures, budgets: budgets))
        if options.details { Console.say("\n" + details(counts, sends: options.sends)) }
        guard let budgets else { return }
        for name in budgets.worthLowering(for: figures) {
            Console.say("\(name) is far below its budget: lower that in \(budgets.file), so that the gain is kept")
        }
        let complaints = budgets.complaints(about: figures)
        guard complaints.isEmpty else { throw BenchError.failed(complaints.joined(separator: "\n")) }
    }

    private static func table(_ figures: [String: Double], budgets: CountBudgets?) -> String {
        let rows = CountFigure.all.map { figure in
            [
                figure.name, figures[figure.name].map(CountBudgets.number) ?? "",
                budgets?.most[figure.name].map(CountBudgets.number) ?? "-",
            ]
        }
        return TextTable.lines([["", "counted", "at most"]] + rows).joined(separator: "\n")
    }

    private static func details(_ counts: CallCounts, sends: Int) -> String {
        let rows = counts.values.sorted { $0.key < $1.key }.filter { $0.value != 0 }.map { name, value in
            [name, "\(value)", CountBudgets.number(Double(value) / Double(sends))]
        }
        return TextTable.lines([["counter", "in all", "per send"]] + rows).joined(separator: "\n")
    }

    /// Built beside this program.
    private static func library() throws -> String {
        let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let path = URL(fileURLWithPath: own).deletingLastPathComponent().appendingPathComponent("libCallCounts.so").path
        guard FileManager.default.fileExists(atPath: path) else {
            throw BenchError.unavailable("\(path) is missing: swift build --package-path Benchmarks")
        }
        return path
    }
}
