internal import EventLoop
internal import Foundation
public import RedisTransport

/// The path of the Redis programs without `-server` and `-cli`. `FANFARE_TEST_REDIS=/usr/bin/valkey` selects Valkey.
private let programs = ProcessInfo.processInfo.environment["FANFARE_TEST_REDIS"] ?? "/usr/bin/redis"
let redisServerProgram = programs + "-server"
let redisClientProgram = programs + "-cli"

/// A real redis-server for one test, with a unix socket in a temporary folder and an optional TCP or TLS port.
///
/// A write is in the kernel's copy of the append-only file before its reply, so `kill9()` and `restart()` lose nothing.
/// Nothing is synced to the disk, because no test cuts the power.
public final class RedisServer: Sendable {
    public enum Port: Sendable {
        case none
        case plain
        case tls(Certificates.Identity, caFile: String, requireClientCertificate: Bool)
    }

    public let folder: TemporaryFolder
    /// The TCP or TLS port; 0 without one.
    public let port: UInt16
    public let socketPath: String
    private let arguments: [String]
    private let environment: [String: String]
    private let process = Locked<Process?>(nil)

    public var endpoint: RedisEndpoint { RedisEndpoint(address: .unix(path: socketPath)) }

    /// Starts the server and waits until it answers.
    ///
    /// - Parameters:
    ///   - config: additional settings as flags and values, such as `["--maxmemory", "2mb"]`.
    ///   - environment: additional environment variables, such as `LD_PRELOAD`.
    ///   - waitUntilReady: false for a server that answers PING with an error, such as NOAUTH or LOADING.
    public init(
        port kind: Port = .none,
        config: [String] = [],
        environment: [String: String] = [:],
        waitUntilReady: Bool = true
    ) throws {
        self.environment = environment
        folder = try TemporaryFolder()
        socketPath = folder.file("redis.sock")
        var arguments = [
            "--unixsocket", socketPath, "--dir", folder.path, "--save", "", "--appendonly", "yes",
            "--appendfsync", "no", "--enable-debug-command", "yes", "--bind", "127.0.0.1",
        ]
        switch kind {
        case .none:
            port = 0
            arguments += ["--port", "0"]
        case .plain:
            port = try Self.freePort()
            arguments += ["--port", "\(port)"]
        case .tls(let identity, let caFile, let requireClientCertificate):
            port = try Self.freePort()
            arguments += [
                "--port", "0", "--tls-port", "\(port)", "--tls-cert-file", identity.certFile,
                "--tls-key-file", identity.keyFile, "--tls-ca-cert-file", caFile,
                "--tls-auth-clients", requireClientCertificate ? "yes" : "no",
            ]
        }
        self.arguments = arguments + config
        try restart(waitUntilReady: waitUntilReady)
    }

    deinit { stop() }

    public var pid: Int32 { process.withLock { $0?.processIdentifier ?? 0 } }

    /// Kills the server with SIGKILL, like a crash.
    public func kill9() {
        process.withLock { process in
            guard let running = process else { return }
            kill(running.processIdentifier, SIGKILL)
            running.waitUntilExit()
            process = nil
        }
    }

    /// Restarts the server with the same socket, port and files.
    public func restart(waitUntilReady: Bool = true) throws {
        kill9()
        let server = Process()
        server.executableURL = URL(fileURLWithPath: redisServerProgram)
        server.arguments = arguments
        server.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        let log = folder.file("redis.log")
        _ = FileManager.default.createFile(atPath: log, contents: nil)
        let output = FileHandle(forWritingAtPath: log)
        server.standardOutput = output
        server.standardError = output
        try startProcess(server)
        try? output?.close()
        process.withLock { $0 = server }
        let deadline = SystemClock.bootNs + 60_000_000_000
        while !answers(anything: !waitUntilReady) {
            guard server.isRunning, SystemClock.bootNs < deadline else {
                let text = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
                throw TestFailure("redis-server did not start: \(text.suffix(2_000))")
            }
            // Polled, because no event reports that a server listens.
            usleep(5_000)
        }
    }

    /// Ends the server and removes its files. Safe to call twice.
    public func stop() {
        kill9()
        folder.remove()
    }

    /// Runs redis-cli over the unix socket, independent of the client under test, and returns its trimmed output.
    @discardableResult
    public func cli(_ arguments: String...) throws -> String { try cli(arguments) }

    @discardableResult
    public func cli(_ arguments: [String]) throws -> String {
        let output = try runProgram(redisClientProgram, ["-s", socketPath] + arguments)
        return String(decoding: output, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// Finds a free port outside the kernel's range for client ports. Another process may still bind it.
    public static func freePort() throws -> UInt16 {
        for _ in 0..<200 {
            let port = UInt16.random(in: 20_000..<32_000)
            let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            defer { close(descriptor) }
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            let isFree = withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
                }
            }
            if isFree { return port }
        }
        throw TestFailure("no free port")
    }

    /// Whether the server answers PING with PONG, or with `anything`.
    private func answers(anything: Bool) -> Bool {
        guard let reply = try? cli("PING") else { return false }
        return anything ? !reply.isEmpty : reply == "PONG"
    }
}

extension RedisServer {
    /// Polls until `condition` holds; throws after 15 s.
    public func waitFor(_ condition: (RedisServer) throws -> Bool) throws {
        let deadline = SystemClock.bootNs + 60_000_000_000
        while try !condition(self) {
            guard SystemClock.bootNs < deadline else { throw TestFailure("the condition did not hold within 15 s") }
            usleep(5_000)
        }
    }
}
