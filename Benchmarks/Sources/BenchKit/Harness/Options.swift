/// What the command line says.
struct Options: Equatable {
    var scenario = ""
    var json: String?
    var fanfare: String?
    var sends = 100_000
    var rounds = 5
    var lanes = 10
    var streams = 100
    var warmUp = 5_000
    /// For each run.
    var limitSeconds = 180.0
    var cork = true
    var h2load = true
    var floorOnly = false
    var keep = false

    static let help = """
        usage: fanfare-bench SCENARIO [--json FILE] [options]

        scenarios:
        \(Scenarios.all.map { "  \($0.name.padded(16)) \($0.summary)" }.joined(separator: "\n"))

        options:
          --json FILE       write both sides of every ratio, all samples and the machine to FILE
          --fanfare PATH    the worker's program; default: .build/release/fanfare of the package above
          --sends N         sends of each run (100000)
          --rounds N        runs of each side, taken in turns (5)
          --warm-up N       sends before the clock starts (5000)
          --lanes N         connections of floor and h2load (10)
          --streams N       streams on each connection (100)
          --limit-seconds N end a run that takes longer (180)
          --no-cork         the floor without TCP_CORK
          --no-h2load       leave the limit out
          --floor-only      leave the worker out
          --keep            keep the temporary folder, and say where it is
        """

    static func parse(_ arguments: [String]) throws -> Options {
        var options = Options()
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            func value() throws -> String {
                guard let value = rest.popFirst() else { throw BenchError.usage("\(argument) needs a value") }
                return value
            }
            func number(_ range: ClosedRange<Int>) throws -> Int {
                let text = try value()
                guard let number = Int(text), range.contains(number) else {
                    let bounds = "\(range.lowerBound) to \(range.upperBound)"
                    throw BenchError.usage("\(argument) \(text): a number from \(bounds)")
                }
                return number
            }
            switch argument {
            case "--json": options.json = try value()
            case "--fanfare": options.fanfare = try value()
            case "--sends": options.sends = try number(1_000...10_000_000)
            case "--rounds": options.rounds = try number(1...1_000)
            case "--warm-up": options.warmUp = try number(1...1_000_000)
            case "--lanes": options.lanes = try number(1...1_000)
            case "--streams": options.streams = try number(1...1_000)
            case "--limit-seconds": options.limitSeconds = Double(try number(1...86_400))
            case "--no-cork": options.cork = false
            case "--no-h2load": options.h2load = false
            case "--floor-only": options.floorOnly = true
            case "--keep": options.keep = true
            default:
                guard !argument.hasPrefix("-"), options.scenario.isEmpty else {
                    throw BenchError.usage("\(argument): unknown; --help lists what there is")
                }
                options.scenario = argument
            }
        }
        return options
    }
}

extension String {
    fileprivate func padded(_ width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }
}
