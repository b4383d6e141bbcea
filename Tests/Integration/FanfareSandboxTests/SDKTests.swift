import FanfareJSON
import FanfareSandbox
import Foundation
import TestSupport
import Testing

/// Google's own library against the sandbox. `FANFARE_SDK_PYTHON` names a Python that has `firebase-admin` and
/// `httpx[http2]`; without one there is nothing to run.
@Suite struct SDKTests {
    static let python = ProcessInfo.processInfo.environment["FANFARE_SDK_PYTHON"]

    @Test(.enabled(if: python != nil, "FANFARE_SDK_PYTHON names no Python"))
    func `firebase-admin works unmodified`() async throws {
        let python = try #require(Self.python)
        try await RunningSandbox.with { sandbox async throws in
            let result = try await run(python, state: sandbox.directory, port: sandbox.ports.data)
            for name in ["rich", "topic", "condition"] {
                let id = try #require(result[name]?.object?["ok"]?.string, "\(name): \(result)")
                #expect(id.hasPrefix("projects/demo/messages/"))
            }
            let subscribed = try #require(result["subscribe"]?.object?["ok"]?.object, "subscribe: \(result)")
            #expect(subscribed["success"] == 2)
            #expect(subscribed["failure"] == 2)
            let reasons = try #require(subscribed["errors"]?.object)
            #expect(Set(reasons.members.map(\.key)) == ["2", "3"])
            let unsubscribed = try #require(result["unsubscribe"]?.object?["ok"]?.object, "unsubscribe: \(result)")
            #expect(unsubscribed["success"] == 1)
            let topical = try await sandbox.control("GET", "/deliveries?token=sbx-apple-topic").body
            #expect(topical.split(separator: "\n").count == 1, "\(topical)")
            #expect(result["dry_run"]?.object?["ok"] == "projects/demo/messages/fake_message_id")
            for name in ["each", "each_async"] {
                let batch = try #require(result[name]?.object?["ok"]?.object, "\(name): \(result)")
                let errors = try #require(batch["errors"]?.array)
                #expect(errors[0] == .null)
                #expect(errors[1] == "UnregisteredError")
                #expect(errors[2] == "InvalidArgumentError")
                #expect(errors[3] == "SenderIdMismatchError")
                #expect(errors[5] == "ThirdPartyAuthError")
            }
            #expect(
                try await sandbox.control("GET", "/deliveries?token=sbx-apple-sdk").body.contains("\"title\":\"Title\"")
            )
        }
    }

    private func run(_ python: String, state: String, port: Int) async throws -> JSONObject {
        let script = Repository.fixture("sdk/firebase_admin_send.py")
        let result = try await Command.run(python, ["-W", "ignore", script, state, String(port), "demo"])
        #expect(result.exitCode == 0)
        return try #require(try JSONParser.parse(Array(result.output.utf8)).object)
    }
}
