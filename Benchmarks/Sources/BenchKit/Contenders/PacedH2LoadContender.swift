internal import Foundation

/// h2load at an even rate: how long the sink itself takes to answer.
struct PacedH2LoadContender: Contender {
    let name: String
    let summary: String
    private let path: String
    private let options: Options
    private let sink: Sink
    private let rate: Int
    private let seconds: Int
    private let workspace: Workspace

    /// nil when the program is not there.
    init?(_ name: String, options: Options, sink: Sink, rate: Int, seconds: Int, in workspace: Workspace) {
        guard let path = Tool.h2load.path else { return nil }
        self.name = name
        summary = "the sink alone, asked by h2load \(rate) times a second"
        self.path = path
        self.options = options
        self.sink = sink
        self.rate = rate
        self.seconds = seconds
        self.workspace = workspace
    }

    /// - Parameter sends: not used: the time is given.
    func run(sends: Int) throws -> RunSample {
        let sends = rate * seconds
        let body = try workspace.write(Payload.body(token: Payload.token(0)), to: "h2load-body.json")
        let log = try workspace.write("", to: "h2load-times.tsv")
        var arguments = [
            "-n", "\(sends)", "-c", "\(options.lanes)", "-m", "\(options.streams)", "-t", "1", "-d", body,
            "--rps", "\(max(1, rate / options.lanes))", "--log-file", log,
        ]
        for header in Payload.headers { arguments += ["-H", header] }
        let started = Patience.now()
        let child = try Child("h2load", path, arguments + [sink.sendURL], in: workspace)
        let ended = try child.finish(seconds: options.limitSeconds)
        let wall = Patience.now() - started
        return RunSample(
            sends: sends,
            wallSeconds: wall,
            cpuSeconds: Double(ended.cpuNs) / 1e9,
            figures: try LatencyScenario.figures(Self.milliseconds(workspace.read("h2load-times.tsv")))
        )
    }

    /// Of the lines `start, status, microseconds`; an answer other than 200 is an error.
    static func milliseconds(_ log: String) throws -> [Double] {
        try log.split(separator: "\n").map { line in
            let columns = line.split(separator: "\t")
            guard columns.count >= 3, columns[1] == "200", let microseconds = Double(columns[2]) else {
                throw BenchError.failed("h2load's log says: \(line)")
            }
            return microseconds / 1_000
        }
    }
}
