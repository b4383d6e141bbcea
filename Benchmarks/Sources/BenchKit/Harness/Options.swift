/// What the command line says. What it does not say is each scenario's own, by its ``Form``.
struct Options: Equatable {
    var scenario = ""
    var form = Form.full
    var json: String?
    var chart: String?
    var fanfare: String?
    /// Another build of the worker, measured in turns with the first.
    var before: String?
    /// The only HTTP engine of the workers; nil for each engine in turns.
    var engine: HTTPEngine?
    var sends: Int?
    var rounds: Int?
    /// Recipients of the scenario `size`.
    var sizes: [Int]?
    var lanes = 10
    var streams = 100
    var warmUp = 5_000
    /// For each run.
    var limitSeconds = 180.0
    var cork = true
    var h2load = true
    var rivals = true
    var floorOnly = false
    var keep = false

    static let help = """
        usage: fanfare-bench SCENARIO|all [--short|--long] [--json FILE] [--chart FILE] [options]

        scenarios:
        \(Scenarios.all.map { "  \($0.name.padded(10)) \($0.summary)" }.joined(separator: "\n"))
          all        every one of them, one after the other

        options:
          --short           all in a quarter of an hour: does it work, and roughly where does it stand
          --long            more rounds and an audience of ten million: hours
          --json FILE       write both sides of every ratio, all samples and the machine to FILE
          --chart FILE      draw throughput and CPU per send against requests in flight; .svg or .png
          --worker PATH     the worker's program; default: .build/release/fanfare of the package above
          --before PATH     another build of the worker, in turns with the first (v1, singles, multicast)
          --engine NAME     workers on one HTTP engine only, curl or nghttp2; default: both in turns
          --libcurl FOLDER  measure floor and worker with the libcurl there: Benchmarks/libcurl8 prints one
          --sends N         sends of each run, where the scenario has no number of its own to keep to
          --rounds N        runs of each side, taken in turns
          --sizes N,N,…     audiences of the scenario size
          --warm-up N       sends before the clock starts (5000)
          --lanes N         connections of floor and h2load (10)
          --streams N       streams on each connection (100)
          --limit-seconds N end a run that takes longer (180)
          --no-cork         the floor without TCP_CORK
          --no-h2load       leave the limit out
          --no-rivals       leave programs by others out
          --floor-only      leave the worker out (v1)
          --keep            keep the temporary folder, and say where it is
        """

    static func parse(_ arguments: [String]) throws -> Options {
        var options = Options()
        var words = Words(rest: arguments[...])
        while let argument = words.next() {
            switch argument {
            case "--short": options.form = .short
            case "--long": options.form = .long
            case "--json": options.json = try words.value(of: argument)
            case "--chart": options.chart = try words.chart(of: argument)
            case "--worker", "--fanfare": options.fanfare = try words.value(of: argument)
            case "--before": options.before = try words.value(of: argument)
            case "--engine": options.engine = try HTTPEngine(words.value(of: argument), of: argument)
            case "--sends": options.sends = try words.number(of: argument, 1_000...10_000_000)
            case "--rounds": options.rounds = try words.number(of: argument, 1...1_000)
            case "--sizes": options.sizes = try words.numbers(of: argument, 1_000...100_000_000)
            case "--warm-up": options.warmUp = try words.number(of: argument, 1...1_000_000)
            case "--lanes": options.lanes = try words.number(of: argument, 1...1_000)
            case "--streams": options.streams = try words.number(of: argument, 1...1_000)
            case "--limit-seconds": options.limitSeconds = Double(try words.number(of: argument, 1...86_400))
            case "--no-cork": options.cork = false
            case "--no-h2load": options.h2load = false
            case "--no-rivals": options.rivals = false
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

    var engines: [HTTPEngine] { engine.map { [$0] } ?? HTTPEngine.allCases }

    func rounds(_ short: Int, _ full: Int, _ long: Int) -> Int { rounds ?? form.pick(short, full, long) }
    func sends(_ short: Int, _ full: Int) -> Int { sends ?? form.pick(short, full, full) }
}

/// The words of a command line, and the values that belong to options.
private struct Words {
    var rest: ArraySlice<String>

    mutating func next() -> String? { rest.popFirst() }

    mutating func value(of option: String) throws -> String {
        guard let value = rest.popFirst() else { throw BenchError.usage("\(option) needs a value") }
        return value
    }

    mutating func number(of option: String, _ range: ClosedRange<Int>) throws -> Int {
        try Self.number(try value(of: option), option, range)
    }

    mutating func numbers(of option: String, _ range: ClosedRange<Int>) throws -> [Int] {
        try value(of: option).split(separator: ",", omittingEmptySubsequences: false).map {
            try Self.number(String($0), option, range)
        }
    }

    mutating func chart(of option: String) throws -> String {
        let file = try value(of: option)
        guard file.hasSuffix(".svg") || file.hasSuffix(".png") else {
            throw BenchError.usage("\(option) \(file): the name ends in .svg or .png")
        }
        return file
    }

    private static func number(_ text: String, _ option: String, _ range: ClosedRange<Int>) throws -> Int {
        guard let number = Int(text), range.contains(number) else {
            throw BenchError.usage(
                "\(option) \(text): a number from \(range.lowerBound) to \(range.upperBound)"
            )
        }
        return number
    }
}

extension String {
    fileprivate func padded(_ width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }
}
