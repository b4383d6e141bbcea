import Foundation
import OpenSSLKit
import RedisTransport
import StreamWire
import TestSupport
import Testing

/// The environment of one end-to-end test: a real redis-server, a sandbox and workers. ``close()`` ends all of them.
final class Rig {
    let directory: URL
    let redis: RedisServer
    private(set) var client: RedisClient
    private(set) var sandbox: ChildProcess?
    private(set) var tlsPort = 0
    private(set) var controlPort = 0
    private(set) var xmppPort = 0
    private var workers: [ChildProcess] = []
    /// The projects of the test; the first is the default of every method.
    let projects: [String]
    var project: String { projects[0] }

    /// - Parameters:
    ///   - redis: a server that the test started; stopped with the rig. nil starts a new one.
    ///   - deployment: the address of Redis for the test's own client; nil for a direct connection to `redis`.
    ///   - tls: certificate files for that client.
    init(
        projects: [String] = ["demo"],
        redis: RedisServer? = nil,
        deployment: RedisDeployment? = nil,
        tls: TLSOptions = TLSOptions()
    ) async throws {
        self.projects = projects
        directory = FileManager.default.temporaryDirectory
            .appendingPathComponent("fanfare-e2e-\(UInt64.random(in: 0 ..< .max))")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        self.redis = try redis ?? RedisServer()
        client = try await RedisClient.connect(
            deployment ?? RedisDeployment(self.redis.endpoint),
            tls: tls,
            patienceMs: deployment == nil ? 5_000 : 30_000
        )
    }

    /// Connects the test's client to another server, such as a promoted replica.
    func connect(to server: RedisServer) async throws {
        client.close()
        client = try await RedisClient.connect(server.endpoint, patienceMs: 5_000)
    }

    var state: URL { directory.appendingPathComponent("sandbox") }

    /// Ends all processes and removes the files. ``withRig(projects:redis:deployment:tls:_:)`` always calls it.
    func close() async {
        for worker in workers {
            worker.judgeEnd()
            if worker.isRunning { worker.signal(SIGKILL) }
        }
        client.close()
        await endSandbox()
        redis.stop()
        try? FileManager.default.removeItem(at: directory)
    }

    // MARK: Sandbox

    /// Ends the sandbox, whose own end is under test, too: its threads use TLS until then.
    private func endSandbox() async {
        guard let sandbox else { return }
        guard sandbox.isRunning else { return sandbox.judgeEnd() }
        sandbox.signal(SIGTERM)
        sandbox.signal(SIGCONT)
        do {
            let status = try await sandbox.wait(seconds: 120)
            #expect(status == 0, "the sandbox's end: \(sandbox.stderr.suffix(20_000))")
        } catch {
            Issue.record("the sandbox does not end: \(sandbox.stderr.suffix(4_000))")
        }
    }

    @discardableResult
    func startSandbox(
        _ options: [String] = [],
        environment: [String: String] = [:]
    ) async throws -> ChildProcess {
        let arguments =
            ["sandbox", "--port", "0", "--xmpp-port", "0", "--control-port", "0", "--state", state.path, "--json"]
            + projects.flatMap { ["--project", $0] } + options
        var process = try ChildProcess(arguments, environment: environment)
        // Another test may bind a port between the sandbox's check and its bind.
        for attempt in 1...3 {
            do {
                try await process.printed("control_port")
                break
            } catch {
                guard attempt < 3, process.stderr.contains("is taken by another program") else { throw error }
                _ = try await process.wait()
                process = try ChildProcess(arguments, environment: environment)
            }
        }
        let ports = try JSONDecoder().decode(SandboxPorts.self, from: Data(process.stdout.utf8))
        sandbox = process
        tlsPort = ports.port
        controlPort = ports.control_port
        xmppPort = ports.xmpp_port
        return process
    }

    private struct SandboxPorts: Decodable {
        var port: Int
        var xmpp_port: Int
        var control_port: Int
    }

    /// Sends a request to the sandbox's control port and returns the body of the answer.
    func control(_ method: String, _ path: String, _ body: String? = nil) async throws -> Data {
        Data(try LoopbackHTTP(port: controlPort).request(method, path, body))
    }

    struct Stats: Decodable {
        var requests: Int
        var sends: Int
        var multicasts: Int
        var accepted: Int
        var duplicates: Int
        var connections: Int
        var rejected: [String: Int]
    }

    /// The messages that a device received, as JSON lines.
    func deliveries(_ token: String) async throws -> [Substring] {
        String(decoding: try await control("GET", "/deliveries?token=\(token)"), as: UTF8.self).split(separator: "\n")
    }

    var senderID: String {
        get throws {
            try String(contentsOfFile: "\(state.path)/sender-id-\(project)", encoding: .utf8)
                .trimmingCharacters(in: .whitespacesAndNewlines)
        }
    }

    /// Settings of a project that uses XMPP.
    var xmppSettings: String {
        get throws { "host: localhost\n    port: \(xmppPort)\n    sender_id: \"\(try senderID)\"" }
    }

    func stats() async throws -> Stats {
        try JSONDecoder().decode(Stats.self, from: try await control("GET", "/stats"))
    }

    // MARK: Workers

    /// Writes a configuration for the projects and returns its path.
    func configuration(
        transport: String = "v1",
        endpoint: String? = nil,
        redisURL: String? = nil,
        durability: String = "fast",
        requestTimeoutMs: Int = 60_000,
        quotaPerMinute: Int = 100_000_000,
        project settings: String = "",
        worker: String = "",
        extra: String = ""
    ) throws -> String {
        let endpoint = endpoint ?? "https://localhost:\(tlsPort)"
        let listed = projects.map { project in
            """
              \(project):
                transport: \(transport)
                endpoint: \(endpoint)
                quota_per_minute: \(quotaPerMinute)
                \(secret(transport, project))
                \(settings)
            """
        }
        let text = """
            redis: { url: "\(redisURL ?? "unix://\(redis.socketPath)")", durability: \(durability) }
            projects:
            \(listed.joined(separator: "\n"))
            tls: { ca_file: \(state.path)/ca.pem }
            worker: { request_timeout_ms: \(requestTimeoutMs)\(worker.isEmpty ? "" : ", " + worker) }
            \(extra)
            """
        let path = directory.appendingPathComponent("fanfare-\(UInt32.random(in: 0 ..< .max)).yaml")
        try text.write(to: path, atomically: true, encoding: .utf8)
        return path.path
    }

    private func secret(_ transport: String, _ project: String) -> String {
        transport == "v1"
            ? "credentials: \(state.path)/service-account-\(project).json"
            : "server_key_file: \(state.path)/server-key-\(project)"
    }

    /// Starts a worker and waits until its log contains `sentence`.
    @discardableResult
    func startWorker(
        _ configuration: String,
        _ options: [String] = [],
        environment: [String: String] = [:],
        fileLimit: Int? = nil,
        until sentence: String = "The worker is connected."
    ) async throws -> ChildProcess {
        let arguments = ["worker", "-c", configuration] + options
        let process: ChildProcess
        if let fileLimit {
            let script = "ulimit -n \(fileLimit); exec \"$0\" \"$@\""
            process = try ChildProcess(
                ["-c", script, ChildProcess.executable.path] + arguments,
                environment: environment,
                executable: URL(fileURLWithPath: "/bin/sh")
            )
        } else {
            process = try ChildProcess(arguments, environment: environment)
        }
        workers.append(process)
        try await process.logged(sentence)
        return process
    }

    // MARK: Jobs

    @discardableResult
    func push(_ fields: [String: String], id: String = "*", in project: String? = nil) async throws -> String {
        var command = RedisCommand("XADD", "fanfare:{\(project ?? self.project)}:jobs", id)
        for (name, value) in fields.sorted(by: { $0.key < $1.key }) {
            command.append(name)
            command.append(value)
        }
        return try #require(try await client.send(command).string)
    }

    static func tokens(_ tokens: [String]) -> String { "[" + tokens.map { "\"\($0)\"" }.joined(separator: ",") + "]" }

    func job(_ id: String, in project: String? = nil) async throws -> [String: String] {
        let key = "fanfare:{\(project ?? self.project)}:job:\(id)"
        let flat = try await client.send(RedisCommand("HGETALL", key)).array ?? []
        var map: [String: String] = [:]
        for index in stride(from: 0, to: flat.count - 1, by: 2) {
            if let name = flat[index].string { map[name] = flat[index + 1].string }
        }
        return map
    }

    /// The states of a job that has ended.
    static let finalStates: Set<String> = ["done", "cancelled", "expired", "rejected"]

    /// Waits until a job has ended, expects its counters to add up to `total` and returns its hash.
    @discardableResult
    func finished(_ id: String, in project: String? = nil, seconds: Double = 60) async throws -> [String: String] {
        var last: [String: String] = [:]
        try await Wait.until("the end of job \(id); it is \(last)\n\(logs)", seconds: seconds) {
            last = try await job(id, in: project)
            return Self.finalStates.contains(last["state"] ?? "")
        }
        let parts = ["sent", "failed", "unknown", "cancelled", "expired"].compactMap { Int(last[$0] ?? "") }
        #expect(parts.count == 5 && parts.reduce(0, +) == Int(last["total"] ?? ""), "counters of \(id): \(last)")
        WrittenFields.check(last.keys, in: "hash")
        return last
    }

    /// Whether a worker has logged a text.
    func hasLogged(_ text: String) -> Bool { workers.contains { $0.stderr.contains(text) } }

    var logs: String { workers.map { "worker \($0.pid): " + $0.stderr.suffix(1_500) }.joined(separator: "\n") }

    struct Recipient: Decodable, Equatable {
        var i: Int
        var token: String?
        var fid: String?
        var topic: String?
        var condition: String?
        var group: String?
        var group_name: String?
        var topics: [String]?
        var failed_tokens: [String]?
        var status: String
        var message_id: String?
        var attempts: Int?
        var maybe_dup: Bool?
        var canonical: String?
        var error: String?
        var raw_error: String?
        var http_status: Int?
        var action: String?
    }

    /// The results of a job, in the order of their entries.
    func results(_ id: String) async throws -> [Recipient] { try await results()[id] ?? [] }

    /// The results of all jobs, by the job's id.
    func results(in project: String? = nil) async throws -> [String: [Recipient]] {
        let key = "fanfare:{\(project ?? self.project)}:results"
        let reply = try await client.send(RedisCommand("XRANGE", key, "-", "+"))
        var all: [String: [Recipient]] = [:]
        for entry in (reply.array ?? []).compactMap({ StreamEntry($0) }) {
            let fields = Dictionary(uniqueKeysWithValues: entry.fields.map { ($0.name, $0.value) })
            guard let job = fields["job"], let text = fields["results"] else { continue }
            let recipients = try JSONDecoder().decode([Recipient].self, from: Data(text))
            try WrittenFields.check(WrittenFields.names(ofResults: text), in: "results")
            all[String(decoding: job, as: UTF8.self), default: []] += recipients
        }
        return all
    }

    func entries(_ stream: String, in project: String? = nil) async throws -> [[String: String]] {
        let key = "fanfare:{\(project ?? self.project)}:\(stream)"
        let reply = try await client.send(RedisCommand("XRANGE", key, "-", "+"))
        let entries = (reply.array ?? []).compactMap { StreamEntry($0) }
        let table = stream == "results" ? "results entry" : stream
        for entry in entries { WrittenFields.check(entry.fields.map(\.name), in: table) }
        return entries.map { entry in
            Dictionary(uniqueKeysWithValues: entry.fields.map { ($0.name, String(decoding: $0.value, as: UTF8.self)) })
        }
    }

    /// Private keys of jobs. There must be none once every job has ended.
    func privateKeys(in project: String? = nil) async throws -> [String] {
        let base = "fanfare:{\(project ?? self.project)}:"
        let reply = try await client.send(RedisCommand("KEYS", base + "*"))
        let parts = ["spec:", "rcpt:", "copy:", "done:", "wait:", "b:"].map { base + $0 }
        return (reply.array ?? []).compactMap(\.string).filter { key in parts.contains { key.hasPrefix($0) } }
    }
}

/// Runs a test on a rig and closes the rig, also after an error.
func withRig<Result>(
    projects: [String] = ["demo"],
    redis: RedisServer? = nil,
    deployment: RedisDeployment? = nil,
    tls: TLSOptions = TLSOptions(),
    _ body: (Rig) async throws -> Result
) async throws -> Result {
    let rig = try await Rig(projects: projects, redis: redis, deployment: deployment, tls: tls)
    do {
        let result = try await body(rig)
        await rig.close()
        return result
    } catch {
        await rig.close()
        throw error
    }
}
