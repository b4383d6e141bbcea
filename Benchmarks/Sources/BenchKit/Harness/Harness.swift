internal import CChild
internal import Foundation

/// The program: everything it starts and writes is gone when it ends.
public enum Harness {
    /// - Returns: the exit code.
    public static func main(_ arguments: [String]) -> Int32 {
        do {
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
        let scenario = try Scenarios.named(options.scenario)
        cchild_watch_interrupts()
        let workspace = try Workspace()
        defer {
            if options.keep { Console.note("kept: \(workspace.path)") } else { workspace.remove() }
        }
        let report = try scenario.run(options, in: workspace)
        Console.say(report.table())
        if let file = options.json {
            guard FileManager.default.createFile(atPath: file, contents: try report.json()) else {
                throw BenchError.failed("cannot write \(file)")
            }
        }
    }
}
