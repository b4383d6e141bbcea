/// What the command line of `counts` says.
struct CountsOptions: Equatable {
    var fanfare = ""
    var budgets: String?
    var kind = "release"
    var sends = 20_000
    var details = false
    var floor = false
    var multicast = false
    /// The only HTTP engine that is counted; nil for each of them.
    var engine: HTTPEngine?

    var engines: [HTTPEngine] { engine.map { [$0] } ?? HTTPEngine.allCases }

    static let help = """
        usage: fanfare-bench counts --fanfare PATH [options]

        One job through a worker for each HTTP engine, with its I/O system calls, allocations and copied bytes counted. The counts are the
        same on every machine, or nearly: what may vary is how much a turn of the loop finds ready.

        options:
          --fanfare PATH    the worker's program
          --budgets FILE    fail if a figure is above the one in FILE
          --kind KIND       which budgets: debug or release (release); nghttp2 has KIND-nghttp2
          --engine NAME     count one HTTP engine only: curl or nghttp2; default: both
          --sends N         recipients of the counted job (20000)
          --details         every single counter too
          --multicast       legacy requests of 1,000 recipients; no budgets, and N is a multiple of 1,000
          --floor           libcurl alone too, for the same sends
          --libcurl FOLDER  with the libcurl there: Benchmarks/libcurl8 prints one
        """

    static func parse(_ arguments: [String]) throws -> CountsOptions {
        var options = CountsOptions()
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            func value() throws -> String {
                guard let value = rest.popFirst() else { throw BenchError.usage("\(argument) needs a value") }
                return value
            }
            switch argument {
            case "--fanfare": options.fanfare = try value()
            case "--budgets": options.budgets = try value()
            case "--kind": options.kind = try value()
            case "--sends":
                let text = try value()
                guard let sends = Int(text), (1_000...1_000_000).contains(sends) else {
                    throw BenchError.usage("--sends \(text): a number from 1000 to 1000000")
                }
                options.sends = sends
            case "--engine": options.engine = try HTTPEngine(value(), of: argument)
            case "--details": options.details = true
            case "--floor": options.floor = true
            case "--multicast": options.multicast = true
            default: throw BenchError.usage("\(argument): unknown; counts --help lists what there is")
            }
        }
        guard !options.fanfare.isEmpty else { throw BenchError.usage("--fanfare PATH says which worker to count") }
        guard !options.multicast || (options.budgets == nil && options.sends.isMultiple(of: 1_000)) else {
            throw BenchError.usage("--multicast goes without --budgets, and with whole thousands of --sends")
        }
        return options
    }
}
