import FanfareJSON
import FanfareSandbox
import Foundation
import Testing

/// Rates and fan-outs through the real ports. Time passes by `/clock`, so that nothing here waits.
@Suite struct RateServerTests {
    private static func bearer(_ sandbox: RunningSandbox) async throws -> [String] {
        let account = try Account(file: sandbox.directory + "/service-account-demo.json")
        return ["authorization: Bearer " + (try await account.accessToken(sandbox)), "content-type: application/json"]
    }

    private static func fanouts(_ sandbox: RunningSandbox) async throws -> [JSONObject] {
        try await sandbox.control("GET", "/fanouts").body.split(separator: "\n").map { line in
            try #require(try JSONParser.parse(Array(line.utf8)).object)
        }
    }

    @Test func `a topic message reaches subscribed tokens after its audience's time`() async throws {
        try await RunningSandbox.with({ $0.fanoutRate = 1_000 }) { sandbox async throws in
            let headers = try await Self.bearer(sandbox)
            let subscribed = try await sandbox.ask(
                "/iid/v1:batchAdd",
                #"{"to":"/topics/news","registration_tokens":["a","sbx-unregistered-1"]}"#,
                headers: headers + ["access_token_auth: true"]
            )
            #expect(subscribed.status == 200)
            #expect(subscribed.body == #"{"results":[{},{"error":"NOT_FOUND"}]}"#)
            let audience = #"{"topic":"news","subscribers":599999}"#
            #expect(try await sandbox.control("POST", "/devices", audience).status == 200)
            let path = "/v1/projects/demo/messages:send"
            let sent = try await sandbox.ask(path, #"{"message":{"topic":"news"}}"#, headers: headers)
            #expect(sent.status == 200)
            #expect(try await sandbox.control("GET", "/deliveries?token=a").body.isEmpty)
            #expect(try await Self.fanouts(sandbox).first?["finished_ms"] == .null)
            try await sandbox.control("POST", "/clock", #"{"advance_ms":600000}"#)
            let fanout = try #require(try await Self.fanouts(sandbox).first)
            let started = try #require(fanout["started_ms"]?.number?.int64)
            #expect(fanout["finished_ms"]?.number?.int64 == started + 600_000)
            #expect(fanout["recipients"] == 600_000)
            #expect(try await sandbox.control("GET", "/deliveries?token=a").body.contains(#""from":"/topics/news""#))
            #expect(try await sandbox.statistic("max_active_fanouts") == 1)
        }
    }

    @Test func `a send beyond a small quota gets the seconds until the refill`() async throws {
        try await RunningSandbox.with({ $0.quotaPerMinute = 2 }) { sandbox async throws in
            let headers = try await Self.bearer(sandbox)
            let path = "/v1/projects/demo/messages:send"
            let body = #"{"message":{"token":"t"}}"#
            for _ in 0..<2 { #expect(try await sandbox.ask(path, body, headers: headers).status == 200) }
            let refused = try await sandbox.ask(path, body, headers: headers)
            #expect(refused.status == 429)
            #expect(refused.body.contains("RATE_LIMIT_EXCEEDED"))
            #expect((1...60).contains(try #require(refused.headers["retry-after"].flatMap { Int($0) })))
            try await sandbox.control("POST", "/clock", #"{"advance_ms":60000}"#)
            #expect(try await sandbox.ask(path, body, headers: headers).status == 200)
            #expect(try await sandbox.control("GET", "/quota").body.hasPrefix(#"{"demo":{"limit":2,"windows":[{"#))
        }
    }

    @Test func `a fan-out beyond the thousandth is refused, or deferred by option`() async throws {
        for defers in [false, true] {
            let change: (inout SandboxOptions) -> Void = {
                $0.deferFanouts = defers
                $0.fanoutRate = 1
            }
            try await RunningSandbox.with(change) { sandbox async throws in
                let key = try sandbox.file("server-key-demo")
                try await sandbox.control("POST", "/devices", #"{"topic":"t","subscribers":100000}"#)
                // One process of curl sends them all over one connection.
                let url = "https://localhost:\(sandbox.ports.data)/fcm/send?[1-1001]"
                let result = try await Command.run(
                    "/usr/bin/env",
                    ["curl", "-s", "--max-time", "60", "--cacert", sandbox.directory + "/ca.pem", "--http2"]
                        + ["-H", "authorization: key=" + key, "-H", "content-type: application/json"]
                        + ["-d", #"{"to":"/topics/t"}"#, "-w", "\n", url]
                )
                let answers = result.output.split(separator: "\n")
                #expect(answers.count == 1_001)
                let refused = answers.count { $0.contains("TopicsMessageRateExceeded") }
                #expect(refused == (defers ? 0 : 1))
                let waiting = try await Self.fanouts(sandbox).count { $0["started_ms"] == .null }
                #expect(waiting == (defers ? 1 : 0))
                #expect(try await sandbox.statistic("max_active_fanouts") == 1_000)
            }
        }
    }

    @Test func `a rate out of range is named`() {
        var options = SandboxOptions(stateDirectory: "/nonexistent", projects: ["demo"])
        options.fanoutRate = 0
        #expect(throws: SandboxError.self) { try options.check() }
    }
}
