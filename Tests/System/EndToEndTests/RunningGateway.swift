import Foundation
import Testing

/// A gateway before a worker and the sandbox.
struct RunningGateway {
    let process: ChildProcess
    let worker: ChildProcess
    let configuration: String
    let port: Int
    /// In the order in which they were added.
    let keys: [String]
    var key: String { keys[0] }
}

extension Rig {
    var keysFolder: String { directory.appendingPathComponent("keys").path }
}

/// Adds a key to a gateway's folder and returns it.
func addKey(_ name: String, _ options: [String], _ configuration: String) async throws -> String {
    let process = try ChildProcess(["gateway", "key", "add", name, "-c", configuration] + options)
    #expect(try await process.wait(seconds: 60) == 0, "\(process.stderr)")
    let key = process.stdout.trimmingCharacters(in: .whitespacesAndNewlines)
    #expect(key.hasPrefix("ffk_") && !process.stderr.contains(key))
    return key
}

/// Starts a gateway and waits until it listens.
func startGateway(_ configuration: String) async throws -> (process: ChildProcess, port: Int) {
    let process = try ChildProcess(["gateway", "-c", configuration])
    try await process.logged("The gateway listens.")
    return (process, try #require(process.stderr.firstMatch(of: /port=([0-9]+)/).flatMap { Int($0.1) }))
}

/// Runs `body` with a sandbox, a worker and a gateway; checks that the gateway ends in order and logs no key.
///
/// - Parameters:
///   - settings: of the gateway besides its address and keys, such as `, wait_ms: 500`.
///   - keys: the name of each key, followed by its options.
///   - prepare: called before the gateway starts.
func withGateway(
    _ settings: String = "",
    projects: [String] = ["demo"],
    keys: [[String]] = [["shop", "--project", "demo"]],
    prepare: (Rig) throws -> Void = { _ in },
    _ body: (Rig, RunningGateway) async throws -> Void
) async throws {
    try await withRig(projects: projects) { rig in
        try await rig.startSandbox()
        let configuration = try rig.configuration(
            project: "iid_endpoint: https://localhost:\(rig.tlsPort)",
            extra: "gateway: { listen: \"127.0.0.1:0\", keys_dir: \(rig.keysFolder)\(settings) }"
        )
        let worker = try await rig.startWorker(configuration)
        var texts: [String] = []
        for key in keys { texts.append(try await addKey(key[0], Array(key.dropFirst()), configuration)) }
        try prepare(rig)
        let (process, port) = try await startGateway(configuration)
        try await body(
            rig,
            RunningGateway(process: process, worker: worker, configuration: configuration, port: port, keys: texts)
        )
        if process.isRunning { process.signal(SIGTERM) }
        #expect(try await process.wait(seconds: 120) == 0, "\(process.stderr)")
        for text in texts { #expect(!process.stderr.contains(text), "no log shows a key") }
    }
}
