import Foundation
import TestSupport
import Testing

/// Workers whose identity is not a service account's key.
@Suite struct IdentityTests {
    private static let data = #"{"data":{"k":"v"}}"#

    enum Kind: String, CaseIterable, Sendable {
        case externalFile = "external-account"
        case externalURL = "a subject token from a URL"
        case federated = "an external account without impersonation"
        case impersonated
        case authorizedUser = "authorized-user"
        case metadata
        case assumedMetadata = "no credential, where a metadata server answers"
    }

    private struct Setup {
        var configuration: String
        var environment: [String: String] = [:]
        /// Serves the subject token; ends with the test.
        var server: ChildServer?
    }

    /// A configuration of the kind in place of the service account.
    private func setUp(_ kind: Kind, _ rig: Rig) throws -> Setup {
        let text = try String(contentsOfFile: try rig.configuration(), encoding: .utf8)
        let line = "credentials: \(rig.state.path)/service-account-demo.json"
        var setup = Setup(configuration: rig.directory.appendingPathComponent("identity.yaml").path)
        let other: String
        switch kind {
        case .externalFile, .impersonated, .authorizedUser:
            other = "credentials: \(rig.state.path)/\(kind.rawValue)-demo.json"
        case .externalURL:
            let server = try ChildServer(folder: rig.state)
            setup.server = server
            let source = ["url": "http://127.0.0.1:\(server.port)/subject-token-demo"]
            let file = try external(rig, ["credential_source": source])
            other = "credentials: \(file)"
        case .federated:
            let file = try external(rig, ["service_account_impersonation_url": NSNull()])
            other = "credentials: \(file)"
        case .metadata: other = "credentials: metadata"
        case .assumedMetadata: other = ""
        }
        if [.metadata, .assumedMetadata].contains(kind) {
            setup.environment["GCE_METADATA_HOST"] = "127.0.0.1:\(rig.controlPort)"
        }
        #expect(text.contains(line))
        try text.replacingOccurrences(of: line, with: other)
            .write(toFile: setup.configuration, atomically: true, encoding: .utf8)
        return setup
    }

    /// The external account's file with other fields.
    private func external(_ rig: Rig, _ changes: [String: Any]) throws -> String {
        let file = rig.state.appendingPathComponent("external-account-demo.json")
        var object = try #require(try JSONSerialization.jsonObject(with: try Data(contentsOf: file)) as? [String: Any])
        object.merge(changes, uniquingKeysWith: { $1 })
        let copy = rig.directory.appendingPathComponent("external.json")
        try JSONSerialization.data(withJSONObject: object).write(to: copy)
        return copy.path
    }

    @Test(arguments: Kind.allCases) func identitySendsWithoutAKeyFile(kind: Kind) async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            let setup = try setUp(kind, rig)
            defer { setup.server?.stop() }
            try await rig.startWorker(setup.configuration, environment: setup.environment)
            try await rig.push(["id": "sent", "message": Self.data, "tokens": Rig.tokens(["a", "b"])])
            let job = try await rig.finished("sent")
            #expect(job["sent"] == "2", "\(job)")
        }
    }

    struct RefusedCase: Sendable {
        var kind: Kind
        var path: String
        var status: Int
        var body: String
        var reason: String
    }

    private static func api(_ message: String) -> String {
        #"{\"error\":{\"code\":403,\"status\":\"PERMISSION_DENIED\",\"message\":\"\#(message)\"}}"#
    }

    @Test(arguments: [
        RefusedCase(
            kind: .externalFile,
            path: "/v1/projects/-/",
            status: 403,
            body: api("no"),
            reason: "grant the source identity roles/iam.workloadIdentityUser on firebase-adminsdk-sandbox@demo."
        ),
        RefusedCase(
            kind: .impersonated,
            path: "/v1/projects/-/",
            status: 403,
            body: api("no"),
            reason: "grant the source identity roles/iam.serviceAccountTokenCreator on firebase-adminsdk-sandbox@demo."
        ),
        RefusedCase(
            kind: .federated,
            path: "/v1/token",
            status: 400,
            body: #"{\"error\":\"invalid_target\",\"error_description\":\"gone\"}"#,
            reason: "STS: HTTP 400: invalid_target: gone; correct audience"
        ),
        RefusedCase(
            kind: .authorizedUser,
            path: "/token",
            status: 400,
            body: #"{\"error\":\"invalid_grant\",\"error_description\":\"expired\"}"#,
            reason: "the refresh endpoint: HTTP 400: invalid_grant: expired; the login has ended"
        ),
        RefusedCase(
            kind: .metadata,
            path: "/v1/projects/demo/",
            status: 403,
            body: api("no"),
            reason: "grant the identity roles/firebasecloudmessaging.admin"
        ),
    ])
    func refusedRoleBlocksTheProjectWithTheReason(row: RefusedCase) async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            let setup = try setUp(row.kind, rig)
            let fault = try await rig.addFault(
                #"{"match":{"path":"\#(row.path)"},"action":{"status":\#(row.status),"body":"\#(row.body)"}}"#
            )
            try await rig.startWorker(setup.configuration, environment: setup.environment)
            try await rig.push(["id": "held", "message": Self.data, "tokens": Rig.tokens(["a", "b", "c"])])
            var state = ""
            try await Wait.until("the project to be blocked; it is \(state)\n\(rig.logs)", seconds: 60) {
                state = try await rig.state(setup.configuration)
                return state.hasPrefix("blocked: ")
            }
            #expect(state.contains(row.reason), "\(state)")
            _ = try await rig.control("DELETE", "/faults?id=\(fault)")
            try await rig.fanfare(setup.configuration, ["project", "resume", "demo"])
            let job = try await rig.finished("held", seconds: 90)
            #expect(job["sent"] == "3" && job["failed"] == "0", "\(job)")
        }
    }

    /// The file is read again for each exchange, without a restart.
    @Test func rotatedSubjectTokenIsTakenUp() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            let setup = try setUp(.externalFile, rig)
            let file = rig.state.appendingPathComponent("subject-token-demo")
            let good = try Data(contentsOf: file)
            try FileManager.default.removeItem(at: file)
            let worker = try await rig.startWorker(setup.configuration)
            try await worker.logged("This worker gets no access token")
            #expect(worker.stderr.contains("credential_source.file: No such file"), "\(worker.stderr)")
            try await rig.push(["id": "later", "message": Self.data, "token": "a"])
            try good.write(to: file)
            let job = try await rig.finished("later", seconds: 90)
            #expect(job["sent"] == "1", "\(job)")
            #expect(!worker.stderr.contains("sandbox-subject-token-"), "the log shows no token")
        }
    }

    @Test func doctorNamesTheMissingRole() async throws {
        struct Report: Decodable {
            struct Check: Decodable {
                var check: String
                var verdict: String
                var remedy: String?
            }
            var checks: [Check]
        }
        try await withRig { rig in
            try await rig.startSandbox()
            func finding(_ kind: Kind, _ check: String) async throws -> Report.Check? {
                let setup = try setUp(kind, rig)
                let arguments = ["doctor", "--online", "--json", "-c", setup.configuration]
                let run = try ChildProcess(arguments, environment: setup.environment)
                _ = try await run.wait(seconds: 60)
                let report = try JSONDecoder().decode(Report.self, from: Data(run.stdout.utf8))
                return report.checks.first { $0.check == check }
            }
            for kind in [Kind.externalFile, .metadata] {
                #expect(try await finding(kind, "token of demo")?.verdict == "ok")
                #expect(try await finding(kind, "FCM of demo")?.verdict == "ok")
            }
            for path in ["/v1/projects/-/", "/v1/projects/demo/"] {
                let body = Self.api("no")
                _ = try await rig.addFault(
                    #"{"match":{"path":"\#(path)"},"action":{"status":403,"body":"\#(body)"}}"#
                )
            }
            let token = try await finding(.impersonated, "token of demo")
            #expect(token?.verdict == "fail", "\(token as Any)")
            #expect(token?.remedy?.contains("roles/iam.serviceAccountTokenCreator on firebase-adminsdk") == true)
            let fcm = try await finding(.metadata, "FCM of demo")
            #expect(fcm?.remedy?.contains("grant sandbox-machine@") == true, "\(fcm as Any)")
            #expect(fcm?.remedy?.contains("roles/firebasecloudmessaging.admin on project demo") == true)
        }
    }

    @Test func projectWithoutAnIdentityIsAConfigurationError() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            var setup = try setUp(.assumedMetadata, rig)
            // Nothing listens there.
            setup.environment["GCE_METADATA_HOST"] = "127.0.0.1:1"
            let worker = try ChildProcess(["worker", "-c", setup.configuration], environment: setup.environment)
            #expect(try await worker.wait(seconds: 60) == 78)
            #expect(
                worker.stderr.contains(
                    "projects.demo.credentials: none named, GOOGLE_APPLICATION_CREDENTIALS is not set"
                ),
                "\(worker.stderr)"
            )
        }
    }
}

/// A file server of Python on a free port of loopback.
final class ChildServer {
    private let process = Process()
    let port: Int

    init(folder: URL) throws {
        let program =
            "import http.server,functools,sys\n"
            + "h=functools.partial(http.server.SimpleHTTPRequestHandler,directory=sys.argv[1])\n"
            + "s=http.server.ThreadingHTTPServer(('127.0.0.1',0),h)\n"
            + "print(s.server_port,flush=True)\ns.serve_forever()\n"
        let output = makePipe()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/python3")
        process.arguments = ["-c", program, folder.path]
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try startProcess(process)
        let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
        port = try #require(Int(line.trimmingCharacters(in: .whitespacesAndNewlines)))
    }

    func stop() { process.terminate() }
}
