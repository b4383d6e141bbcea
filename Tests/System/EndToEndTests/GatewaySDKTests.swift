import Foundation
import TestSupport
import Testing

/// Clients of FCM, unmodified, whose names lead to a gateway.
@Suite(
    .enabled(
        if: NamedGateway.isPossible && NamedGateway.python != nil,
        "needs root, and FANFARE_SDK_PYTHON with the clients of ops/test"
    )
)
struct GatewaySDKTests {
    private static let name = "projects/demo/messages/"
    private static let errors = [
        "unregistered": "UnregisteredError", "invalid": "InvalidArgumentError", "mismatch": "SenderIdMismatchError",
        "auth": "ThirdPartyAuthError",
    ]

    @Test func firebaseAdminLogsInWithAServiceAccountAndSeesEveryTypedError() async throws {
        var account = ""
        try await NamedGateway.run {
            account = try await $0.account("app", "--project", "demo")
        } _: { gateway in
            let environment = ["GOOGLE_APPLICATION_CREDENTIALS": account]
            let seen = try await gateway.seen("names.py", environment: environment)
            for name in ["send", "dry run", "topic", "condition"] {
                #expect((seen[name] as? String)?.hasPrefix(Self.name) == true, "\(name): \(seen)")
            }
            for (name, error) in Self.errors { #expect(seen[name] as? String == error, "\(name): \(seen)") }
            #expect(seen["wrong message"] as? String == "InvalidArgumentError")
            #expect(seen["other project"] as? String == "PermissionDeniedError")
            let each = try #require(seen["each"] as? [String])
            let types = ["unregistered", "invalid", "mismatch", "auth"].compactMap { Self.errors[$0] }
            #expect(each[0].hasPrefix(Self.name) && Array(each[1...]) == types)
            for name in ["subscribe", "subscribe by iid", "async subscribe"] {
                let topic = try #require(seen[name] as? [Any])
                #expect(topic[0] as? Int == 1 && topic[1] as? Int == 1, "\(name): \(topic)")
            }
            for name in ["unsubscribe", "unsubscribe by iid"] {
                #expect((seen[name] as? [Any])?[0] as? Int == 1, "\(seen)")
            }
            let together = try #require(seen["async each"] as? [Any])
            #expect(together[0] as? Int == 199 && together[2] as? String == "UnregisteredError", "\(together)")
            let multicast = try #require(seen["async multicast"] as? [String])
            #expect(multicast[0].hasPrefix(Self.name) && multicast[1] == "SenderIdMismatchError", "\(multicast)")
            #expect((seen["async dry run"] as? [String])?[0].hasPrefix(Self.name) == true)
            #expect(try await gateway.rig.deliveries("names-1").count == 1)
            #expect(try await gateway.rig.deliveries("names-dry").isEmpty)
            #expect(try await gateway.rig.deliveries("names-async-199").count == 1)
        }
    }

    /// It logs in without Redis, and repeats the gateway's 503 after its Retry-After.
    @Test func firebaseAdminOutwaitsARedisThatIsAway() async throws {
        var account = ""
        try await NamedGateway.run {
            account = try await $0.account("app", "--project", "demo")
        } _: { gateway in
            gateway.rig.redis.kill9()
            let environment = ["GOOGLE_APPLICATION_CREDENTIALS": account]
            let script = [try #require(NamedGateway.python), Repository.fixture("gateway/patient.py"), "patient-1"]
            let client = try gateway.start(script, environment)
            try await Wait.until("a request to be refused: \(gateway.process.stderr)") {
                gateway.process.stderr.contains("Redis did not answer.")
            }
            try gateway.rig.redis.restart()
            #expect(try await client.wait(seconds: 120) == 0, "\(client.stderr)")
            #expect(client.stdout.hasPrefix(Self.name), "\(client.stdout)\n\(gateway.process.stderr)")
            try await Wait.until("the message to arrive") {
                try await gateway.rig.deliveries("patient-1").count == 1
            }
        }
    }

    @Test func clientsThatOthersWroteSend() async throws {
        var account = ""
        try await NamedGateway.run {
            account = try await $0.account("app", "--project", "demo")
        } _: { gateway in
            let seen = try await gateway.seen("clients.py", [account, "demo"])
            for name in ["pyfcm", "pyfcm dry run", "pyfcm topic", "generated"] {
                let sent = (seen[name] as? [String: Any])?["name"] as? String
                #expect(sent?.hasPrefix(Self.name) == true, "\(name): \(seen)")
            }
            #expect(seen["pyfcm unregistered"] as? String == "FCMNotRegisteredError")
            #expect(seen["pyfcm mismatch"] as? String == "FCMSenderIdMismatchError")
            #expect("\(seen["pyfcm async"] ?? "")".contains("UNREGISTERED"), "\(seen)")
            let refused = try #require(seen["generated unregistered"] as? [Any])
            #expect(refused[0] as? Int == 404 && "\(refused[1])".contains("UNREGISTERED"), "\(refused)")
            #expect((seen["async-firebase"] as? String)?.hasPrefix(Self.name) == true, "\(seen)")
            #expect(seen["async-firebase unregistered"] as? String == "UnregisteredError")
            let several = try #require(seen["async-firebase several"] as? [String])
            #expect(several[0].hasPrefix(Self.name) && several[1] == "SenderIdMismatchError", "\(several)")
            #expect(seen["async-firebase topic"] as? [Int] == [1, 1], "\(seen)")
            for token in ["pyfcm-1", "generated-1", "async-1"] {
                #expect(try await gateway.rig.deliveries(token).count == 1, "\(token)")
            }
        }
    }

    @Test(.enabled(if: EmulatorTests.hasGoClient, "needs golang-google-api-dev"))
    func googlesClientForGoSendsToAnotherEndpoint() async throws {
        var account = ""
        try await NamedGateway.run {
            account = try await $0.account("app", "--project", "demo")
        } _: { gateway in
            let program = ["go", "run", Repository.fixture("gateway/send.go"), NamedGateway.origin, "demo"]
            let environment = [
                "GO111MODULE": "off", "GOPATH": "/usr/share/gocode", "HOME": gateway.rig.directory.path,
                "GOOGLE_APPLICATION_CREDENTIALS": account,
            ]
            let output = try await gateway.output(["env"] + program + ["go-1", "sbx-unregistered-go"], environment)
            let lines = output.split(separator: "\n")
            #expect(lines.first?.hasPrefix(Self.name) == true && lines.last == "404 Requested entity was not found.")
            #expect(try await gateway.rig.deliveries("go-1").count == 1)
        }
    }

    @Test func clientsOfTheLegacyProtocolSendAgain() async throws {
        var key = ""
        try await NamedGateway.run {
            key = try await $0.key("old", "--project", "demo")
        } _: { gateway in
            let python = try #require(NamedGateway.python)
            let modules = URL(fileURLWithPath: python).deletingLastPathComponent().deletingLastPathComponent()
                .appendingPathComponent("legacy")
            let seen = try await gateway.seen("legacy.py", [key], environment: ["PYTHONPATH": modules.path])
            let one = try #require(seen["one"] as? [String: Any])
            #expect(one["success"] as? Int == 1 && one["failure"] as? Int == 0, "\(one)")
            let several = try #require((seen["several"] as? [String: Any])?["results"] as? [[String: Any]], "\(seen)")
            #expect(several[0]["message_id"] != nil)
            #expect(
                several[1...].map { $0["error"] as? String } == [
                    "NotRegistered", "InvalidRegistration", "MismatchSenderId", "InvalidApnsCredential",
                    "InvalidRegistration",
                ]
            )
            #expect("\(seen["gone"] ?? "")".contains("NotRegistered"), "\(seen)")
            #expect((seen["dry run"] as? [String: Any])?["success"] as? Int == 1)
            #expect((seen["topic"] as? [String: Any])?["topic_message_id"] is Int, "\(seen)")
            #expect(seen["subscribe"] as? Bool == true && seen["unsubscribe"] as? Bool == true)
            #expect(seen["wrong key"] as? String == "AuthenticationError")
            #expect("\(seen["gcm json"] ?? "")".contains("NotRegistered"), "\(seen)")
            // No new token.
            #expect(seen["gcm text"] is NSNull, "\(seen)")
            #expect(seen["gcm text gone"] as? String == "GCMNotRegisteredException")
            #expect(try await gateway.rig.deliveries("old-5").count == 1)
            #expect(try await gateway.rig.deliveries("old-dry").isEmpty)
        }
    }

    @Test func serverOf2015SendsAgain() async throws {
        var (key, relay) = ("", "")
        try await NamedGateway.run(settings: "topic_api: v1") { adding in
            key = try await adding.key("old", "--project", "demo")
            relay = try await adding.key("relay", "--project", "demo", "--project", "eu")
        } _: { gateway in
            let script = [
                "/bin/bash", Repository.fixture("gateway/old-server.sh"), key, try gateway.rig.senderID, relay,
            ]
            let output = try await gateway.output(script)
            let lines = output.split(separator: "\n").map(String.init)
            func line(_ name: String) -> String { lines.first { $0.hasPrefix(name + " ") } ?? "" }
            #expect(line("text").wholeMatch(of: /text id=[^ =]+ 200/) != nil, "\(output)")
            #expect(line("gone") == "gone Error=NotRegistered 200")
            #expect(line("json").contains(#""success":1,"failure":0,"canonical_ids":0"#), "\(output)")
            #expect(line("topic").wholeMatch(of: /topic \{"message_id":[0-9]+\} 200/) != nil, "\(output)")
            for name in ["group", "to"] {
                #expect(line(name) == name + #" {"success":1,"failure":0} 200"#, "\(output)")
            }
            #expect(line("create").wholeMatch(of: /create \{"notification_key":"[^"]+"\}/) != nil, "\(output)")
            #expect(line("find").wholeMatch(of: /find \{"notification_key":"[^"]+"\} 200/) != nil, "\(output)")
            #expect(line("info") == #"info {"scope":"*","rel":{"topics":{}}} 200"#, "\(output)")
            #expect(output.contains("wrong The gateway does not know this key.\n 401"), "\(output)")
            #expect(output.contains("The key relay is for several projects (demo, eu)"), "\(output)")
            let delivered = try await gateway.rig.deliveries("curl-1")
            #expect(delivered.count == 1)
            #expect(try await gateway.rig.deliveries("curl-3").count == 2)
        }
    }

    /// One installation that several customers send through: each may use its own project, at its own rate.
    @Test func tenantsOfARelayCannotReachEachOther() async throws {
        var arguments: [String] = []
        try await NamedGateway.run(projects: ["demo", "eu"]) { adding in
            arguments = [
                try await adding.key("first", "--project", "demo", "--rate", "60"),
                try await adding.key("second", "--project", "eu"),
                try await adding.key("reader", "--project", "eu", "--rights", "read"),
                try await adding.account("app", "--project", "demo"),
                adding.folder.appendingPathComponent("keys").path,
            ]
        } _: { gateway in
            let seen = try await gateway.seen("relay.py", [NamedGateway.origin] + arguments)
            let expected =
                [
                    "own project": [200, "OK"], "other project": [403, "PERMISSION_DENIED"],
                    "unknown project": [403, "PERMISSION_DENIED"], "second's own": [200, "OK"],
                    "second's other": [403, "PERMISSION_DENIED"], "topic of the other": [403, "PERMISSION_DENIED"],
                    "without the right": [403, "PERMISSION_DENIED"], "above the rate": [429, "RESOURCE_EXHAUSTED"],
                    "second is not slowed": [200, "OK"], "token": [200, "OK"],
                    "token of the other": [403, "PERMISSION_DENIED"],
                    "forged": [400, "invalid_grant"], "forged as bearer": [401, "UNAUTHENTICATED"],
                    "signed for the API": [200, "OK"], "grant for the API": [400, "invalid_grant"],
                    "expired": [401, "UNAUTHENTICATED"], "old grant": [400, "invalid_grant"],
                    "huge": [400, "invalid_grant"], "ten wrong keys": [429, "invalid_request"],
                    "from that address": [429, "RESOURCE_EXHAUSTED"], "no algorithm": [400, "invalid_grant"],
                    "no key": [401, "UNAUTHENTICATED"],
                    "after its key was removed": [401, "UNAUTHENTICATED"], "the others are served": [200, "OK"],
                ] as [String: [any Hashable & Sendable]]
            for (name, answer) in expected {
                let found = try #require(seen[name] as? [Any], "\(name): \(seen)")
                #expect(
                    found[0] as? Int == answer[0] as? Int && found[1] as? String == answer[1] as? String,
                    "\(name): \(found)"
                )
            }
            #expect((1...30).contains(seen["wait"] as? Int ?? 0))
            let renewal = #"Bearer realm="fanfare", error="invalid_token""#
            #expect(seen["renewal"] as? [String] == ["ACCESS_TOKEN_EXPIRED", renewal])
            #expect(try await gateway.rig.deliveries("stolen").isEmpty, "nothing went to another tenant's devices")
        }
    }
}
