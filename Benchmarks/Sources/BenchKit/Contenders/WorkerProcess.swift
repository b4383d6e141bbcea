internal import Foundation

/// A real `fanfare worker`, started as an operator would, on a configuration of its own.
final class WorkerProcess {
    private let child: Child

    /// - Parameter name: of the process, its log and its configuration.
    init(
        _ name: String = "worker",
        executable: String,
        redis: PrivateRedis,
        target: Target,
        settings: WorkerSettings = WorkerSettings(),
        environment: [String: String] = [:],
        in workspace: Workspace
    ) throws {
        let file = try workspace.write(settings.text(redisURL: redis.url, target: target), to: "\(name).yaml")
        let variables = CurlLibrary.environment.merging(environment) { $1 }
        child = try Child(name, executable, ["worker", "--config", file], environment: variables, in: workspace)
        do {
            try Patience.wait(for: "\(name) to connect", seconds: 30) {
                try child.throwIfEnded()
                return workspace.read(child.logFile).contains("The worker is connected.") ? () : nil
            }
            try child.checkLibcurl()
        } catch {
            child.stop(seconds: 0)
            throw error
        }
    }

    func cpuNs() throws -> Int { try child.cpuNs() }
    func peakMemoryMegabytes() throws -> Double { try child.peakMemoryMegabytes() }
    func throwIfEnded() throws { try child.throwIfEnded() }

    /// Lets it drain. What it used over its whole life.
    @discardableResult
    func drain() throws -> Child.Ended {
        guard let ended = child.stop(seconds: 30), ended.status == 0 else {
            throw BenchError.failed("the worker did not drain and exit with 0")
        }
        return ended
    }

    func stop() { child.stop(seconds: 0) }
}
