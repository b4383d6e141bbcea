import Foundation
import TestSupport
import Testing

/// A gateway to which the names of Google's hosts lead, for clients that have no setting for another endpoint.
///
/// It has an address of its own on this machine, so that port 443 is free. Only the clients see the names: each runs with
/// a file of host names of its own. Its certificate is of `fanfare gateway ca`.
struct NamedGateway {
    /// Its clients' name for it, in service account files.
    static let origin = "https://push.example.com"
    /// Namespaces, mounts and ports below 1,024 need it.
    static let isPossible = getuid() == 0
    static let python = ProcessInfo.processInfo.environment["FANFARE_SDK_PYTHON"]

    let rig: Rig
    let process: ChildProcess
    let configuration: String
    private let tls: String
    private let hosts: String

    /// Runs `body` with a sandbox, a worker and a gateway; checks that the gateway ends in order and logs no key.
    static func run(
        projects: [String] = ["demo"],
        settings: String = "topic_api: v1",
        keys: (Adding) async throws -> Void,
        _ body: (NamedGateway) async throws -> Void
    ) async throws {
        try await withRig(projects: projects) { rig in
            try await rig.startSandbox()
            let tls = rig.directory.appendingPathComponent("tls").path
            // A few clients ignore the token_uri of their file, and ask Google's host.
            let made = try ChildProcess([
                "gateway", "ca", "--out", tls, "--name", "push.example.com", "--name", "oauth2.googleapis.com",
            ])
            #expect(try await made.wait() == 0, "\(made.stderr)")
            let address = "127.83.\(Int.random(in: 1...254)).\(Int.random(in: 1...254))"
            let gateway = "listen: \"\(address):443\", keys_dir: \(rig.keysFolder)"
            let configuration = try rig.configuration(
                project: "sender_id: \"\(try rig.senderID)\"\n    \(settings)",
                extra: "gateway: { \(gateway), cert_file: \(tls)/gateway.pem, key_file: \(tls)/gateway.key }"
            )
            try await keys(Adding(configuration: configuration, folder: rig.directory))
            try await rig.startWorker(configuration)
            let process = try await startGateway(configuration).process
            let names = ["fcm", "iid", "gcm-http", "android", "oauth2"].map { $0 + ".googleapis.com" }
            let hosts = rig.directory.appendingPathComponent("hosts")
            let lines = "127.0.0.1 localhost\n\(address) push.example.com \(names.joined(separator: " "))\n"
            try lines.write(to: hosts, atomically: true, encoding: .utf8)
            try await body(
                NamedGateway(rig: rig, process: process, configuration: configuration, tls: tls, hosts: hosts.path)
            )
            process.signal(SIGTERM)
            #expect(try await process.wait(seconds: 120) == 0, "\(process.stderr)")
            #expect(!process.stderr.contains("ffk_") && !process.stderr.contains("eyJ"), "no log shows a key")
        }
    }

    /// Adds keys before the gateway starts.
    struct Adding {
        let configuration: String
        let folder: URL

        /// - Returns: the key.
        func key(_ name: String, _ options: String...) async throws -> String {
            try await addKey(name, options, configuration)
        }

        /// - Returns: the path of the service account file.
        func account(_ name: String, _ options: String...) async throws -> String {
            let file = folder.appendingPathComponent("\(name).json").path
            let account = ["--service-account", file, "--url", NamedGateway.origin]
            let process = try ChildProcess(["gateway", "key", "add", name, "-c", configuration] + options + account)
            #expect(try await process.wait() == 0, "\(process.stderr)")
            return file
        }
    }

    /// Runs a program of `Fixtures/gateway` among the names, and reads the JSON object that it prints.
    func seen(
        _ script: String,
        _ arguments: [String] = [],
        environment: [String: String] = [:]
    ) async throws -> [String: Any] {
        let text = try await output(
            [try #require(Self.python), Repository.fixture("gateway/\(script)")] + arguments,
            environment
        )
        return try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
    }

    /// The output of a program among the names.
    func output(_ command: [String], _ environment: [String: String] = [:]) async throws -> String {
        let process = try start(command, environment)
        let status = try await process.wait(seconds: 300)
        try #require(status == 0, "\(process.stdout)\n\(process.stderr)\n\(self.process.stderr.suffix(4_000))")
        return process.stdout
    }

    /// Starts a program among the names.
    func start(_ command: [String], _ environment: [String: String] = [:]) throws -> ChildProcess {
        let trusted = ["REQUESTS_CA_BUNDLE", "SSL_CERT_FILE", "HTTPLIB2_CA_CERTS", "CURL_CA_BUNDLE"]
        let all = Dictionary(uniqueKeysWithValues: trusted.map { ($0, tls + "/ca.pem") })
        return try ChildProcess(
            ["--mount", "sh", "-c", "mount --bind '\(hosts)' /etc/hosts && exec \"$@\"", "sh"] + command,
            environment: all.merging(environment) { $1 },
            executable: URL(fileURLWithPath: "/usr/bin/unshare")
        )
    }
}
