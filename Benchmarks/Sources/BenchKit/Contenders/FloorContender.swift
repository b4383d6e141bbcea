internal import Foundation

/// The bare libcurl lane loop: the least that sending through libcurl costs.
struct FloorContender: Contender {
    let name: String
    let summary: String
    private let workspace: Workspace
    private let sink: Sink
    private let job: FloorJob

    /// - Parameters:
    ///   - lanes: connections; as the options say when nil.
    ///   - warmUp: sends before the clock starts; as the options say when nil.
    init(_ bench: Bench, sink: Sink, name: String = "floor", lanes: Int? = nil, warmUp: Int? = nil) {
        let options = bench.options
        self.name = name
        self.sink = sink
        workspace = bench.workspace
        job = FloorJob(
            url: sink.sendURL,
            authority: sink.target.authority,
            headers: Payload.headers,
            body: Payload.body(token: Payload.token(0)),
            lanes: lanes ?? options.lanes,
            streams: options.streams,
            warmUp: warmUp ?? options.warmUp,
            sends: 0,
            cork: options.cork,
            limitSeconds: options.limitSeconds
        )
        summary = "libcurl alone, \(job.lanes) connections of \(job.streams) streams"
    }

    func run(sends: Int) throws -> RunSample {
        var job = job
        job.sends = sends
        let text = String(decoding: try JSONEncoder().encode(job), as: UTF8.self)
        let file = try workspace.write(text, to: "floor.json")
        let sinkBefore = try sink.cpuNs()
        let child = try Child(
            "floor",
            "/proc/self/exe",
            [FloorLoop.command, file],
            environment: CurlLibrary.environment,
            in: workspace
        )
        try child.finish(seconds: job.limitSeconds + 5)
        let sinkNs = try sink.cpuNs() - sinkBefore
        let answer = try JSONDecoder().decode(FloorAnswer.self, from: Data(workspace.read(child.outputFile).utf8))
        guard answer.sent + answer.failed == sends, answer.failed <= sends / 100 else {
            throw BenchError.failed("the floor: \(answer.failed) of \(sends) failed, first: \(answer.firstError)")
        }
        return RunSample(
            sends: sends,
            failed: answer.failed,
            wallSeconds: Double(answer.wallNs) / 1e9,
            cpuSeconds: Double(answer.userNs + answer.systemNs) / 1e9,
            startUpCPUSeconds: Double(answer.warmUpCPUNs) / 1e9,
            sinkCPUSeconds: Double(sinkNs) / 1e9,
            peakMemoryMegabytes: answer.peakMemoryMegabytes
        )
    }
}
