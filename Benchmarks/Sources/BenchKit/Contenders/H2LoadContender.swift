internal import Foundation

/// nghttp2's load generator: the same requests by a program that does nothing else. It checks no certificate and keeps
/// no answer; its figure is a limit, not a rival.
struct H2LoadContender: Contender {
    let name = "h2load"
    let summary: String
    private let path: String
    private let options: Options
    private let sink: Sink
    private let workspace: Workspace

    /// nil when the program is not there: the limit is optional.
    init?(options: Options, sink: Sink, in workspace: Workspace) {
        guard options.h2load, let path = Tool.h2load.path else { return nil }
        self.path = path
        self.options = options
        self.sink = sink
        self.workspace = workspace
        summary = "h2load, \(options.lanes) connections of \(options.streams) streams; start-up included"
    }

    func run(sends: Int) throws -> RunSample {
        let body = try workspace.write(Payload.body(token: Payload.token(0)), to: "h2load-body.json")
        var arguments = ["-n", "\(sends)", "-c", "\(options.lanes)", "-m", "\(options.streams)", "-t", "1", "-d", body]
        for header in Payload.headers { arguments += ["-H", header] }
        let sinkBefore = try sink.cpuNs()
        let started = Patience.now()
        let child = try Child("h2load", path, arguments + [sink.sendURL], in: workspace)
        let ended = try child.finish(seconds: options.limitSeconds)
        let wall = Patience.now() - started
        let said = workspace.read(child.outputFile)
        guard said.contains("\(sends) succeeded, 0 failed") else {
            throw BenchError.failed("h2load: \(workspace.tail(child.outputFile))")
        }
        return RunSample(
            sends: sends,
            wallSeconds: wall,
            cpuSeconds: Double(ended.cpuNs) / 1e9,
            sinkCPUSeconds: Double(try sink.cpuNs() - sinkBefore) / 1e9
        )
    }
}
