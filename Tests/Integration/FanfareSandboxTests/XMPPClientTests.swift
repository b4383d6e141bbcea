import FanfareJSON
import FanfareSandbox
import Foundation
import TestSupport
import Testing

/// A well-known XMPP client against the sandbox's XMPP port. `FANFARE_SDK_PYTHON` names a Python that has `slixmpp`.
@Suite struct XMPPClientTests {
    @Test(.enabled(if: SDKTests.python != nil, "FANFARE_SDK_PYTHON names no Python"))
    func `slixmpp logs in, sends, receives and acknowledges`() async throws {
        let python = try #require(SDKTests.python)
        try await RunningSandbox.with { sandbox async throws in
            let result = try await run(python, sandbox)
            let sender = try sandbox.file("sender-id-demo")
            #expect(result["wrong_key"] == false)
            #expect(result["login"] == true)
            #expect(result["jid"]?.string?.hasPrefix(sender + "@gcm.googleapis.com/") == true)
            let ack: JSONObject = ["from": "plain", "message_id": "m-1", "message_type": "ack"]
            #expect(result["ack"]?.object == ack)
            let receipt = try #require(result["receipt"]?.object)
            #expect(receipt["message_id"] == "dr2:m-1")
            #expect(receipt["data"]?.object?["message_status"] == "MESSAGE_SENT_TO_DEVICE")
            #expect(result["nack"]?.object?["error"] == "DEVICE_UNREGISTERED")
            #expect(result["order"] == .array(["quick", "slow"]))
            let text = "Gr\u{FC}\u{DF}e <&\"'> \u{2028} \u{1F600}"
            let upstream = try #require(result["upstream"]?.object)
            #expect(upstream["data"]?.object?["text"] == .string(text))
            #expect(upstream["category"] == "com.example.shop")
            #expect(result["again"]?.object == upstream)
            #expect(result["bad_ack"]?.object?["error"] == "BAD_ACK")
            #expect(result["control"]?.object?["control_type"] == "CONNECTION_DRAINING")
            #expect(result["second"]?.object?["message_type"] == "ack")
            #expect(result["stats"]?.object?["upstream_acked"] == 2)
            let lines = try await sandbox.control("GET", "/deliveries?token=plain").body.split(separator: "\n")
            let line = try #require(lines.first)
            let first = try #require(try JSONParser.parse(Array(line.utf8)).object)
            #expect(first["payload"]?.object?["text"] == .string(text))
        }
    }

    private func run(_ python: String, _ sandbox: RunningSandbox) async throws -> JSONObject {
        let script = Repository.fixture("sdk/slixmpp_session.py")
        let ports = sandbox.ports
        let result = try await Command.run(
            python,
            ["-W", "ignore", script, sandbox.directory, String(ports.xmpp), String(ports.control), "demo"]
        )
        #expect(result.exitCode == 0)
        return try #require(try JSONParser.parse(Array(result.output.utf8)).object)
    }
}
