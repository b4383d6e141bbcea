import FanfareJSON
import FanfareSandbox
import Foundation
import TestSupport
import Testing

/// Identities without a service account's key, against the real servers of a sandbox.
@Suite struct IdentityServerTests {
    private static let token = "/computeMetadata/v1/instance/service-accounts/default/token"

    private func metadata(_ sandbox: RunningSandbox, _ path: String = token, headers: [String]) async throws
        -> CurlReply
    {
        try await sandbox.client.ask("http://127.0.0.1:\(sandbox.ports.control)\(path)", headers: headers)
    }

    @Test func `every identity has a file for its owner only, which survives a restart`() async throws {
        let directory = NSTemporaryDirectory() + "fanfare-sandbox-" + UUID().uuidString
        defer { try? FileManager.default.removeItem(atPath: directory) }
        var secrets: Set<String> = []
        for _ in 0..<2 {
            try await RunningSandbox.with(directory: directory) { sandbox async throws in
                for name in ["external-account", "impersonated", "authorized-user"] {
                    let path = "\(directory)/\(name)-demo.json"
                    let attributes = try FileManager.default.attributesOfItem(atPath: path)
                    #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
                    #expect(try sandbox.file("\(name)-demo.json").contains("https://localhost:\(sandbox.ports.data)/"))
                }
                let file = try sandbox.file("authorized-user-demo.json")
                let user = try #require(try JSONParser.parse(Array(file.utf8)).object)
                let refresh = try #require(user["refresh_token"]?.string)
                secrets.insert(refresh + (try sandbox.file("subject-token-demo")))
            }
        }
        #expect(secrets.count == 1)
    }

    @Test func `the metadata server is on the control port, and wants its header`() async throws {
        try await RunningSandbox.with { sandbox async throws in
            let reply = try await metadata(sandbox, headers: ["Metadata-Flavor: Google"])
            #expect(reply.status == 200 && reply.headers["metadata-flavor"] == "Google", "\(reply.body)")
            #expect(try await metadata(sandbox, headers: []).status == 403)
            let url = "https://localhost:\(sandbox.ports.data)\(Self.token)"
            let foreign = try await sandbox.client.ask(url, headers: ["Metadata-Flavor: Google"])
            #expect(foreign.status == 404)
        }
    }

    @Test func `faults apply to the metadata server`() async throws {
        try await RunningSandbox.with { sandbox async throws in
            let fault = #"{"match":{"path":"/computeMetadata/"},"action":{"status":404},"times":1}"#
            try await sandbox.control("POST", "/faults", fault)
            #expect(try await metadata(sandbox, headers: ["Metadata-Flavor: Google"]).status == 404)
            #expect(try await metadata(sandbox, headers: ["Metadata-Flavor: Google"]).status == 200)
        }
    }

    @Test(.enabled(if: SDKTests.python != nil, "FANFARE_SDK_PYTHON names no Python"))
    func `google-auth gets a token for every identity`() async throws {
        let python = try #require(SDKTests.python)
        try await RunningSandbox.with { sandbox async throws in
            let script = Repository.fixture("sdk/google_auth_identities.py")
            let ports = ["\(sandbox.ports.data)", "\(sandbox.ports.control)"]
            let run = try await Command.run(
                python,
                ["-W", "ignore", script, sandbox.directory] + ports + ["demo"]
            )
            let result = try #require(try JSONParser.parse(Array(run.output.utf8)).object, "\(run.output)")
            let kinds = [
                "service-account", "external-account", "federated", "impersonated", "authorized-user", "metadata",
            ]
            for kind in kinds { #expect(result[kind] == 200, "\(kind): \(run.output)") }
            #expect(result["ping"] == true, "\(run.output)")
        }
    }
}
