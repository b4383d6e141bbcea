internal import Foundation

/// A real `fanfare worker`, started as an operator would, on a configuration of its own.
final class WorkerProcess {
    private let child: Child

    /// The quota is out of the way: at its default, it and not the worker would be measured.
    init(
        executable: String,
        redis: PrivateRedis,
        sink: Sink,
        certificates: Certificates,
        environment: [String: String] = [:],
        in workspace: Workspace
    ) throws {
        try workspace.write(try Self.serviceAccount(sink: sink, certificates: certificates), to: "account.json")
        let file = try workspace.write(
            """
            redis: { url: "\(redis.url)" }
            projects:
              \(Sink.project):
                transport: v1
                credentials: account.json
                endpoint: \(sink.origin)
                quota_per_minute: 1000000000
            tls: { ca_file: ca.pem }

            """,
            to: "worker.yaml"
        )
        child = try Child("worker", executable, ["worker", "--config", file], environment: environment, in: workspace)
    }

    func cpuNs() throws -> Int { try child.cpuNs() }
    func throwIfEnded() throws { try child.throwIfEnded() }

    /// Lets it drain. What it used over its whole life.
    func drain() throws -> Child.Ended {
        guard let ended = child.stop(seconds: 30), ended.status == 0 else {
            throw BenchError.failed("the worker did not drain and exit with 0")
        }
        return ended
    }

    func stop() { child.stop(seconds: 0) }

    private static func serviceAccount(sink: Sink, certificates: Certificates) throws -> String {
        let fields = [
            "type": "service_account", "project_id": Sink.project, "private_key_id": "benchmark",
            "private_key": certificates.accountKey, "client_id": "1",
            "client_email": "benchmark@\(Sink.project).iam.gserviceaccount.com", "token_uri": sink.tokenURL,
        ]
        return String(decoding: try JSONEncoder().encode(fields), as: UTF8.self)
    }
}
