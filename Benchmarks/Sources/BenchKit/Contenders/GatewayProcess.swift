/// A real `fanfare gateway` before a fleet, with TLS and one key.
final class GatewayProcess {
    /// `https://localhost:port`
    let origin: String
    let key: String
    private let child: Child

    init(
        executable: String,
        redis: PrivateRedis,
        target: Target,
        certificates: Certificates,
        in workspace: Workspace
    ) throws {
        let settings = WorkerSettings().text(redisURL: redis.url, target: target)
        let gateway = """
            gateway:
              listen: 127.0.0.1:0
              cert_file: \(certificates.certificate)
              key_file: \(certificates.key)
              keys_dir: \(workspace.file("keys"))
              wait_ms: 30000

            """
        let file = try workspace.write(settings + gateway, to: "gateway.yaml")
        let adding = try Child(
            "gateway-key",
            executable,
            ["gateway", "key", "add", "bench", "--project", Sink.project, "--json", "--config", file],
            in: workspace
        )
        try adding.finish(seconds: 30)
        guard let key = Self.string("key", in: workspace.read(adding.outputFile)) else {
            throw BenchError.failed("`fanfare gateway key add` printed no key")
        }
        self.key = key
        let child = try Child("gateway", executable, ["gateway", "--config", file], in: workspace)
        do {
            let port = try Patience.wait(for: "the gateway to listen", seconds: 30) {
                try child.throwIfEnded()
                return workspace.read(child.logFile).firstMatch(of: /port=([0-9]+)/).map { String($0.1) }
            }
            origin = "https://localhost:\(port)"
        } catch {
            child.stop(seconds: 0)
            throw error
        }
        self.child = child
    }

    /// The value of a member of a JSON object whose strings have no escapes.
    private static func string(_ name: String, in json: String) -> String? {
        json.split(separator: "\"\(name)\":", maxSplits: 1).dropFirst().first?.split(separator: "\"").first {
            !$0.allSatisfy(\.isWhitespace)
        }.map(String.init)
    }

    func cpuNs() throws -> Int { try child.cpuNs() }
    func peakMemoryMegabytes() throws -> Double { try child.peakMemoryMegabytes() }

    /// Removes its keys: the next gateway of the workspace makes one of the same name.
    func stop(in workspace: Workspace) {
        child.stop(seconds: 10)
        workspace.remove("keys")
    }
}
