import FanfareJSON
import FanfareSandbox
import Foundation
import Logging
import Testing

/// A sandbox on free ports with a folder of its own, for the length of one test.
struct RunningSandbox {
    let ports: SandboxPorts
    let directory: String
    let client: CurlClient

    static func with(
        _ change: (inout SandboxOptions) -> Void = { _ in },
        _ work: (RunningSandbox) async throws -> Void
    ) async throws {
        let directory = NSTemporaryDirectory() + "fanfare-sandbox-" + UUID().uuidString
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try await with(directory: directory, change, work)
    }

    static func with(
        directory: String,
        _ change: (inout SandboxOptions) -> Void = { _ in },
        _ work: (RunningSandbox) async throws -> Void
    ) async throws {
        var options = SandboxOptions(stateDirectory: directory, projects: ["demo", "other"])
        options.port = 0
        options.controlPort = 0
        options.xmppPort = 0
        change(&options)
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        let sandbox = Sandbox(options: options, logger: logger)
        let ports = try await sandbox.start()
        let running = RunningSandbox(
            ports: ports,
            directory: directory,
            client: CurlClient(authority: directory + "/ca.pem")
        )
        do {
            try await work(running)
        } catch {
            await sandbox.stop()
            throw error
        }
        await sandbox.stop()
    }

    func file(_ name: String) throws -> String {
        try String(contentsOfFile: directory + "/" + name, encoding: .utf8)
            .trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// A request to the TLS port.
    func ask(_ path: String, _ body: String, headers: [String] = [], options: [String] = ["--http2"]) async throws
        -> CurlReply
    {
        try await client.ask("https://localhost:\(ports.data)\(path)", body: body, headers: headers, options: options)
    }

    func legacy(_ body: String, options: [String] = ["--http2"]) async throws -> CurlReply {
        let key = try file("server-key-demo")
        return try await ask(
            "/fcm/send",
            body,
            headers: ["authorization: key=" + key, "content-type: application/json"],
            options: options
        )
    }

    @discardableResult
    func control(_ method: String, _ target: String, _ body: String? = nil) async throws -> CurlReply {
        try await client.ask(
            "http://127.0.0.1:\(ports.control)\(target)",
            body: body,
            options: ["-X", method, "--http1.1"]
        )
    }

    func statistic(_ name: String) async throws -> Int64 {
        let stats = try await control("GET", "/stats").body
        let object = try #require(try JSONParser.parse(Array(stats.utf8)).object)
        return try #require(object[name]?.number?.int64)
    }
}
