import FanfareModel
import Foundation
import OpenSSLKit
import RedisTransport
import StreamWire
import TestSupport
import Testing

/// A cluster that uses TLS only: for its clients, which need a certificate, and between its nodes.
@Suite struct ClusterTests {
    /// Two projects on different primaries.
    private static let projects = ["alpha", "beta"]

    @Test func fanoutRunsOnAClusterOverTLS() async throws {
        let certificates = try Certificates()
        let identity = try certificates.issue("node", names: ["DNS:localhost", "IP:127.0.0.1"], isClientToo: true)
        let client = try certificates.issue("client", names: [])
        let cluster = try RedisCluster(
            port: .tls(identity, caFile: certificates.caFile, requireClientCertificate: true),
            config: ["--appendfsync", "always"]
        )
        defer { cluster.stop() }
        let owners = try Self.projects.map { try cluster.primary(of: HashSlot(key: ProjectKeys(project: $0).base)) }
        #expect(owners[0] !== owners[1])
        let url = "rediss-cluster://\(cluster.seeds)"
        let files = (cert: client.certFile, key: client.keyFile)
        try await withRig(
            projects: Self.projects,
            redis: cluster.nodes[0],
            deployment: try RedisDeployment(url: url),
            tls: TLSOptions(caFile: certificates.caFile, certFile: files.cert, keyFile: files.key)
        ) { rig in
            try await rig.startSandbox()
            let both = try [certificates.caFile, "\(rig.state.path)/ca.pem"].map {
                try String(contentsOfFile: $0, encoding: .utf8)
            }
            let environment = [
                "FANFARE_REDIS_CERT_FILE": files.cert, "FANFARE_REDIS_KEY_FILE": files.key,
                "FANFARE_TLS_CA_FILE": try certificates.folder.write("both.pem", both.joined(separator: "\n")),
            ]
            let configuration = try rig.configuration(redisURL: url)
            try await rig.startWorker(configuration, environment: environment)

            let tokens = (0..<1_100).map { $0 == 7 ? "sbx-unregistered-1" : "ok-\($0)" }
            for project in Self.projects {
                try await rig.push(
                    ["id": "fan", "message": #"{"data":{"k":"v"}}"#, "tokens": Rig.tokens(tokens)],
                    in: project
                )
            }
            for project in Self.projects {
                let job = try await rig.finished("fan", in: project)
                #expect(job["sent"] == "1099" && job["failed"] == "1", "\(project): \(job)")
            }

            func output(_ arguments: [String]) async throws -> String {
                let process = try ChildProcess(arguments + ["-c", configuration], environment: environment)
                let status = try await process.wait(seconds: 60)
                #expect(status == 0, "\(arguments): \(process.stderr)")
                return process.stdout
            }
            let top = try await output(["top", "--once", "--json"])
            for project in Self.projects { #expect(top.contains(#""id":"\#(project)""#)) }
            #expect(try await output(["job", "show", "fan", "--project", "beta"]).contains("1099"))
            // The third primary serves no project and has no functions loaded.
            let doctor = try await output(["doctor"])
            #expect(doctor.contains("ok    functions: loaded, the same as in this program"), "\(doctor)")
            #expect(doctor.contains("ok    redis role: primary of a cluster"), "\(doctor)")
            for project in Self.projects { #expect(doctor.contains("ok    project \(project)"), "\(doctor)") }
        }
    }
}
