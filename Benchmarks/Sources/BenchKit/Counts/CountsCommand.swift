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
        let budgets = try options.engines.map { engine in
            try options.budgets.map { try CountBudgets(file: $0, kind: engine.side(options.kind)) }
        }
        var program = Options()
        program.fanfare = options.fanfare
        let executable = try Executable.fanfare(program)
        let library = try library()
        cchild_watch_interrupts()
        let workspace = try Workspace()
        defer { workspace.remove() }
        let sink = try Sink(
            certificates: Certificates(in: workspace),
            traits: Sink.Traits(servesMulticast: options.multicast),
            in: workspace
        )
        defer { sink.stop() }
        let sends = options.sends
        var run = CountedRun(executable: executable, library: library, sends: sends, multicast: options.multicast)
        let floor =
            options.floor ? try CountedFloor(library: library, sends: sends).counts(sink: sink, in: workspace) : nil

        var complaints: [String] = []
        for (engine, budgets) in zip(options.engines, budgets) {
            run.engine = engine
            let columns = Columns(
                worker: (engine.side("worker"), try run.counts(sink: sink, in: workspace)),
                floor: floor,
                sends: sends
            )
            if engine != options.engines[0] { Console.say("") }
            Console.say(columns.figures(budgets: budgets))
            if options.details { Console.say("\n" + columns.counters()) }
            if let budgets { complaints += check(columns.worker.counts, sends: sends, against: budgets) }
        }
        guard complaints.isEmpty else { throw BenchError.failed(complaints.joined(separator: "\n")) }
    }

    /// Names the figures that are far below their budgets.
    /// - Returns: a sentence for each figure that is above its budget.
    private static func check(_ worker: CallCounts, sends: Int, against budgets: CountBudgets) -> [String] {
        var figures: [String: Double] = [:]
        for figure in CountFigure.all { figures[figure.name] = figure.value(worker, sends) }
        for name in budgets.worthLowering(for: figures) {
            Console.say("\(name) is far below its budget: lower that in \(budgets.file), so that the gain is kept")
        }
        return budgets.complaints(about: figures)
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

/// Counts of one send: the worker's, and where they were counted libcurl's alone.
private struct Columns {
    let worker: (name: String, counts: CallCounts)
    let floor: CallCounts?
    let sends: Int

    func figures(budgets: CountBudgets?) -> String {
        lines("at most") {
            CountFigure.all.map { figure in
                (
                    figure.name, figure.value(worker.counts, sends), floor.map { figure.value($0, sends) },
                    budgets?.most[figure.name].map(CountBudgets.number) ?? "-"
                )
            }
        }
    }

    func counters() -> String {
        lines("in all") {
            worker.counts.values.sorted { $0.key < $1.key }.filter { $0.value != 0 }.map { name, value in
                (name, Double(value) / Double(sends), floor.map { Double($0[name]) / Double(sends) }, "\(value)")
            }
        }
    }

    private func lines(
        _ last: String,
        _ rows: () -> [(name: String, worker: Double, floor: Double?, last: String)]
    ) -> String {
        let heading = ["", worker.name] + (floor == nil ? [] : ["libcurl alone"]) + [last]
        let texts = rows().map { row in
            [row.name, CountBudgets.number(row.worker)] + (row.floor.map { [CountBudgets.number($0)] } ?? []) + [
                row.last
            ]
        }
        return TextTable.lines([heading] + texts).joined(separator: "\n")
    }
}
