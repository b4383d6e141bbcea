internal import EventLoop
internal import Foundation

/// A real Sentinel that watches one primary, named `main`, and considers it down after a second.
public final class SentinelServer: Sendable {
    public let port: UInt16
    private let folder: TemporaryFolder
    private let process = Locked<Process?>(nil)

    /// - Parameters:
    ///   - quorum: how many Sentinels have to agree that the primary is down.
    ///   - config: additional lines of its configuration.
    public init(watching primary: UInt16, quorum: Int, config: [String] = []) throws {
        folder = try TemporaryFolder()
        port = try RedisServer.freePort()
        let lines =
            [
                "port \(port)", "bind 127.0.0.1", "dir \(folder.path)", "protected-mode no",
                "sentinel monitor main 127.0.0.1 \(primary) \(quorum)", "sentinel down-after-milliseconds main 1000",
                "sentinel failover-timeout main 5000", "sentinel parallel-syncs main 1",
            ] + config
        let file = try folder.write("sentinel.conf", lines.joined(separator: "\n") + "\n")
        let server = Process()
        server.executableURL = URL(fileURLWithPath: redisServerProgram)
        server.arguments = [file, "--sentinel"]
        server.standardOutput = FileHandle.nullDevice
        server.standardError = FileHandle.nullDevice
        try startProcess(server)
        process.withLock { $0 = server }
        try wait("a Sentinel to answer") { try cli("PING") == "PONG" }
    }

    deinit { stop() }

    @discardableResult
    public func cli(_ arguments: String...) throws -> String {
        let output = try runProgram(redisClientProgram, ["-p", "\(port)"] + arguments)
        return String(decoding: output, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// The port of the primary that this Sentinel names.
    public var primary: UInt16? {
        guard let words = try? cli("SENTINEL", "GET-MASTER-ADDR-BY-NAME", "main") else { return nil }
        return words.split(whereSeparator: \.isNewline).last.flatMap { UInt16($0) }
    }

    /// The value of a field of `SENTINEL MASTER`, such as `num-slaves`.
    public func knows(_ name: String) throws -> String? {
        let lines = try cli("SENTINEL", "MASTER", "main").split(whereSeparator: \.isNewline).map(String.init)
        return lines.firstIndex(of: name).map { lines[$0 + 1] }
    }

    /// Polls until `condition` holds; throws after a minute.
    public func wait(_ what: String, _ condition: () throws -> Bool) throws {
        let deadline = SystemClock.bootNs + 60_000_000_000
        while (try? condition()) != true {
            guard SystemClock.bootNs < deadline else { throw TestFailure("timed out waiting for \(what)") }
            usleep(20_000)
        }
    }

    /// Stops the process with SIGSTOP: its connections stay open without answers.
    public func freeze() { process.withLock { process in if let process { kill(process.processIdentifier, SIGSTOP) } } }

    /// Kills the Sentinel and removes its files. Safe to call twice.
    public func stop() {
        process.withLock { process in
            guard let running = process else { return }
            kill(running.processIdentifier, SIGKILL)
            running.waitUntilExit()
            process = nil
        }
        folder.remove()
    }
}
