internal import CChild
internal import Foundation

/// The program: everything it starts and writes is gone when it ends.
public enum Harness {
    /// - Returns: the exit code.
    public static func main(_ arguments: [String]) -> Int32 {
        do {
            try CurlLibrary.restart(arguments)
            if arguments.count == 2, arguments[0] == FloorLoop.command {
                try FloorLoop.main(jobFile: arguments[1])
            } else if arguments.first == CountsCommand.name {
                try CountsCommand.main(Array(arguments.dropFirst()))
            } else if arguments.contains("--help") || arguments.contains("-h") {
                Console.say(Options.help)
            } else {
                try run(Options.parse(arguments))
            }
            return 0
        } catch let error as BenchError {
            Console.note("fanfare-bench: \(error)")
            return error.exitCode
        } catch {
            Console.note("fanfare-bench: \(error)")
            return 1
        }
    }

    private static func run(_ options: Options) throws {
        let scenarios = try Scenarios.named(options.scenario)
        try Tool.demand(scenarios.flatMap { $0.tools } + (options.chart.map(Chart.tools) ?? []))
        let executable = options.floorOnly ? nil : try Executable.fanfare(options)
        cchild_watch_interrupts()
        let workspace = try Workspace()
        defer {
            if options.keep { Console.note("kept: \(workspace.path)") } else { workspace.remove() }
        }
        let machine = Machine(tools: [.nginx, .redisServer, .h2load])
        if machine.isBusy { Console.note("others are at work here (load \(machine.loadBefore)): expect a wide spread") }
        let bench = Bench(
            options: options,
            workspace: workspace,
            certificates: try Certificates(in: workspace),
            executable: executable
        )
        var record = Record(form: options.form, machine: machine)
        Console.say(record.heading())
        for scenario in scenarios { try measure(scenario, bench, &record) }
        Console.say(record.verdicts())
        try write(record, options, in: workspace)
        if let failure = record.failures.first {
            throw BenchError.failed("\(record.failures.count) of \(scenarios.count) failed, first \(failure.scenario)")
        }
    }

    /// One scenario of many may fail without taking the others' figures with it.
    private static func measure(_ scenario: any Scenario.Type, _ bench: Bench, _ record: inout Record) throws {
        Console.note("\(scenario.name): \(scenario.summary)")
        let started = Patience.now()
        do {
            var report = try scenario.run(bench)
            // What is spent once, such as a buffer, counts for much in few sends, and one round has no spread.
            if bench.form == .short { for place in report.goals.indices { report.goals[place].isJudged = false } }
            record.scenarios.append(report)
            Console.say("\n\(report.table())\n")
        } catch let error where bench.options.scenario == Scenarios.everything && cchild_interrupted() == 0 {
            Console.note("\(scenario.name) failed: \(error)")
            record.failures.append(Record.Failure(scenario: scenario.name, reason: "\(error)"))
        }
        Console.note(String(format: "\(scenario.name) took %.0f s", Patience.now() - started))
    }

    private static func write(_ record: Record, _ options: Options, in workspace: Workspace) throws {
        if let file = options.json {
            guard FileManager.default.createFile(atPath: file, contents: try record.json()) else {
                throw BenchError.failed("cannot write \(file)")
            }
        }
        guard let file = options.chart else { return }
        guard let report = record.scenarios.first(where: { $0.scenario == InFlightScenario.name }) else {
            throw BenchError.failed("nothing to draw: the chart shows the scenario \(InFlightScenario.name)")
        }
        try Chart.write(report, machine: record.machine, to: file, in: workspace)
    }
}
