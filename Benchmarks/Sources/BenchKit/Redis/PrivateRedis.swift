internal import Foundation

/// A redis-server of the harness's own, on a unix socket.
final class PrivateRedis {
    /// What the server writes to disk.
    enum Persistence {
        case none
        /// An append-only file, synced once a second; never rewritten, which would cost the run that it falls into.
        case appendOnly

        fileprivate var settings: [String] {
            switch self {
            case .none: ["--appendonly", "no"]
            case .appendOnly:
                ["--appendonly", "yes", "--appendfsync", "everysec", "--auto-aof-rewrite-percentage", "0"]
            }
        }
    }

    let client: RESPClient
    let url: String
    private let socket: String
    private let child: Child

    init(_ persistence: Persistence = .none, in workspace: Workspace) throws {
        let server = try Tool.redisServer.found()
        let socket = workspace.file("redis.sock")
        self.socket = socket
        // A server of the same workspace loads the file that the last one left.
        try? FileManager.default.removeItem(atPath: workspace.file("appendonlydir"))
        url = "unix://\(socket)"
        unlink(socket)
        let child = try Child(
            "redis",
            server,
            [
                "--port", "0", "--unixsocket", socket, "--unixsocketperm", "700", "--dir", workspace.path,
                "--save", "", "--maxmemory-policy", "noeviction",
            ] + persistence.settings,
            in: workspace
        )
        self.child = child
        do {
            client = try Patience.wait(for: "redis-server", seconds: 10) {
                try child.throwIfEnded()
                guard let client = try? RESPClient(socketPath: socket, timeoutSeconds: 30),
                    (try? client.send("PING")) == .text("PONG")
                else { return nil }
                return client
            }
        } catch {
            child.stop()
            throw error
        }
    }

    /// Another connection.
    func connect() throws -> RESPClient { try RESPClient(socketPath: socket, timeoutSeconds: 30) }

    func info(_ section: String) throws -> RedisInfo {
        guard case .text(let text) = try client.send("INFO", section) else {
            throw BenchError.failed("Redis does not answer INFO \(section)")
        }
        return RedisInfo(text)
    }

    /// See ``RedisInfo/keyBytes()``. Waits first: Redis counts the buffers of its clients anew five times a second or so.
    func keyBytes() throws -> Int {
        usleep(500_000)
        return try info("memory").keyBytes()
    }

    /// What this server uses, and how long it takes, for work without a worker.
    func meter(sends: Int, _ work: () throws -> Void) throws -> RunSample {
        let (before, started) = (try cpuNs(), Patience.now())
        try work()
        let wall = Patience.now() - started
        return RunSample(sends: sends, wallSeconds: wall, redisCPUSeconds: Double(try cpuNs() - before) / 1e9)
    }

    func cpuNs() throws -> Int { try child.cpuNs() }
    func stop() { child.stop() }
}
