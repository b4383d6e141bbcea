internal import Foundation

/// nginx in the place of FCM: TLS, HTTP/2, and the same answer to every send.
///
/// It answers as soon as the headers are there and throws the body away, so it costs as little as a server can; what
/// is measured is the client. With a ``Traits/delaySeconds``, and for requests of many recipients, it reads the body.
final class Sink {
    /// What a sink does beyond answering at once.
    struct Traits {
        var streams = 100
        /// How long each v1 send waits for its answer.
        var delaySeconds = 0.0
        /// Legacy requests of 1,000 recipients are served.
        var servesMulticast = false

        var needsEcho: Bool { delaySeconds > 0 || servesMulticast }
    }

    static let project = "demo"
    static let failingProject = "mixed"
    /// About as long as Google's: it travels with every request.
    static let accessToken = "ya29." + String(repeating: "fanfare-benchmark-", count: 11) + "token"
    static let tools = [Tool.nginx, .openssl]

    let port: UInt16
    let target: Target
    /// The project whose sends sometimes fail.
    let failingTarget: Target
    private let child: Child

    var origin: String { target.origin }
    var sendURL: String { "\(origin)/v1/projects/\(Self.project)/messages:send" }
    var tokenURL: String { "\(origin)/token" }

    init(certificates: Certificates, traits: Traits = Traits(), in workspace: Workspace) throws {
        let nginx = try Tool.nginx.found()
        port = try Loopback.freePort()
        let origin = "https://localhost:\(port)"
        func target(_ project: String) throws -> Target {
            let account = try Self.serviceAccount(project, tokenURL: "\(origin)/token", certificates: certificates)
            return Target(
                origin: origin,
                authority: certificates.authority,
                credentials: try workspace.write(account, to: "account-\(project).json"),
                serverKey: try workspace.write("AAAA-benchmark-server-key", to: "server-key")
            )
        }
        self.target = try target(Self.project)
        failingTarget = try target(Self.failingProject)
        let configuration = SinkConfiguration(
            port: port,
            certificates: certificates,
            traits: traits,
            folder: workspace.path,
            echoModule: traits.needsEcho ? try Tool.echoModule.found() : nil
        )
        let file = try workspace.write(configuration.text, to: "nginx.conf")
        let log = workspace.file("nginx-errors.log")
        child = try Child("nginx", nginx, ["-p", workspace.path, "-c", file, "-e", log], in: workspace)
        do {
            try Patience.wait(for: "nginx", seconds: 10) {
                try child.throwIfEnded()
                return Loopback.accepts(port: port) ? () : nil
            }
        } catch {
            child.stop()
            throw error
        }
    }

    func cpuNs() throws -> Int { try child.cpuNs() }
    func stop() { child.stop() }

    private static func serviceAccount(
        _ project: String,
        tokenURL: String,
        certificates: Certificates
    ) throws -> String {
        let fields = [
            "type": "service_account", "project_id": project, "private_key_id": "benchmark",
            "private_key": certificates.accountKey, "client_id": "1",
            "client_email": "benchmark@\(project).iam.gserviceaccount.com", "token_uri": tokenURL,
        ]
        return String(decoding: try JSONEncoder().encode(fields), as: UTF8.self)
    }
}
