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
        let run = CountedRun(executable: executable, library: library, sends: sends, multicast: options.multicast)
        let worker = try run.counts(sink: sink, in: workspace)
        let floor =
            options.floor ? try CountedFloor(library: library, sends: sends).counts(sink: sink, in: workspace) : nil

        Console.say(table(worker, floor, sends: sends, budgets: budgets))
        if options.details { Console.say("\n" + details(worker, floor, sends: sends)) }
        guard let budgets else { return }
        var figures: [String: Double] = [:]
        for figure in CountFigure.all { figures[figure.name] = figure.value(worker, sends) }
        for name in budgets.worthLowering(for: figures) {
            Console.say("\(name) is far below its budget: lower that in \(budgets.file), so that the gain is kept")
        }
        let complaints = budgets.complaints(about: figures)
        guard complaints.isEmpty else { throw BenchError.failed(complaints.joined(separator: "\n")) }
    }

    private static func table(_ worker: CallCounts, _ floor: CallCounts?, sends: Int, budgets: CountBudgets?) -> String
    {
        lines("at most", floor: floor != nil) {
            CountFigure.all.map { figure in
                (
                    figure.name, figure.value(worker, sends), floor.map { figure.value($0, sends) },
                    budgets?.most[figure.name].map(CountBudgets.number) ?? "-"
                )
            }
        }
    }

    private static func details(_ worker: CallCounts, _ floor: CallCounts?, sends: Int) -> String {
        lines("in all", floor: floor != nil) {
            worker.values.sorted { $0.key < $1.key }.filter { $0.value != 0 }.map { name, value in
                (name, Double(value) / Double(sends), floor.map { Double($0[name]) / Double(sends) }, "\(value)")
            }
        }
    }

    /// Of one send: of the worker's, and where it was counted of libcurl alone.
    private static func lines(
        _ last: String,
        floor: Bool,
        _ rows: () -> [(name: String, worker: Double, floor: Double?, last: String)]
    ) -> String {
        let heading = ["", "worker"] + (floor ? ["libcurl alone"] : []) + [last]
        let texts = rows().map { row in
            [row.name, CountBudgets.number(row.worker)] + (row.floor.map { [CountBudgets.number($0)] } ?? []) + [
                row.last
            ]
        }
        return TextTable.lines([heading] + texts).joined(separator: "\n")
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
