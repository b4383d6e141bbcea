internal import Foundation

/// A redis-server of the harness's own, on a unix socket, keeping everything in memory.
final class PrivateRedis {
    let client: RESPClient
    let url: String
    private let child: Child

    init(in workspace: Workspace) throws {
        let server = try Tool.redisServer.found()
        let socket = workspace.file("redis.sock")
        url = "unix://\(socket)"
        unlink(socket)
        let child = try Child(
            "redis",
            server,
            [
                "--port", "0", "--unixsocket", socket, "--unixsocketperm", "700", "--dir", workspace.path,
                "--save", "", "--appendonly", "no", "--maxmemory-policy", "noeviction",
            ],
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

    func cpuNs() throws -> Int { try child.cpuNs() }
    func stop() { child.stop() }
}
