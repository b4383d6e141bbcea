internal import Foundation

/// A bare loop in another language, with a process of its own: it takes a job file and prints a ``FloorAnswer``, as the
/// libcurl floor does.
struct LoopRival: Contender {
    let name: String
    let summary: String
    /// The program and what comes before the job file.
    let command: [String]
    var environment: [String: String] = [:]
    let sink: Sink
    let workspace: Workspace
    let limitSeconds: Double
    /// A slow one does a part of the sends.
    var share = 1.0
    /// The job file's text for so many sends.
    let job: (Int) throws -> Data

    func run(sends: Int) throws -> RunSample {
        let sends = max(1_000, Int(Double(sends) * share))
        let file = try workspace.write(String(decoding: try job(sends), as: UTF8.self), to: "\(name).json")
        let sinkBefore = try sink.cpuNs()
        let child = try Child(
            name,
            command[0],
            command.dropFirst() + [file],
            environment: environment,
            in: workspace
        )
        _ = try child.finish(seconds: limitSeconds + 5)
        let sinkNs = try sink.cpuNs() - sinkBefore
        let answer = try JSONDecoder().decode(Answer.self, from: Data(workspace.read(child.outputFile).utf8))
        guard answer.sent + answer.failed == sends, answer.failed <= sends / 100 else {
            throw BenchError.failed("\(name): \(answer.failed) of \(sends) failed, first: \(answer.firstError)")
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

    private struct Answer: Decodable {
        let sent: Int
        let failed: Int
        let wallNs: Int
        let userNs: Int
        let systemNs: Int
        let warmUpCPUNs: Int
        let peakMemoryMegabytes: Double
        let firstError: String
    }
}
