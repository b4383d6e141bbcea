import Foundation
import OpenSSLKit
import RedisTransport
import StreamWire
import TestSupport
import Testing

extension RunningGateway {
    /// The port that a message of the log gives.
    fileprivate func port(_ message: String) throws -> Int {
        let line = try #require(process.stderr.split(separator: "\n").first { $0.contains(message) })
        return try #require(line.matches(of: /(?:port=|:)([0-9]+)(?: |$)/).last.flatMap { Int($0.1) })
    }

    fileprivate func ask(_ path: String) throws -> String {
        let port = try port("The admin address listens.")
        return String(decoding: try LoopbackHTTP(port: port).request("GET", path), as: UTF8.self)
    }

    /// Sends to a token, and answers what the client got.
    fileprivate func send(_ token: String, key: String? = nil, leaveAfter seconds: String? = nil) async throws -> String
    {
        let port = String(try port("The gateway listens."))
        let call = try ChildProcess(
            [Repository.fixture("gateway/call.py"), port, "demo", key ?? self.key, token]
                + (seconds.map { ["--leave-after", $0] } ?? []),
            executable: URL(fileURLWithPath: "/usr/bin/python3")
        )
        #expect(try await call.wait(seconds: 60) == 0, "\(call.stderr)")
        return call.stdout
    }
}

/// What operators see of a gateway: its admin address and its log.
@Suite struct GatewayOperationTests {
    /// - Parameter otherKeys: how many keys named `other-N` with the text `ffk_other-N` there are besides `shop`.
    private func withGateway(
        otherKeys: Int = 0,
        _ body: (Rig, RunningGateway) async throws -> Void
    ) async throws {
        func addOthers(_ rig: Rig) throws {
            for number in 0..<otherKeys {
                let digest = MessageDigest.sha256(Array("ffk_other-\(number)".utf8)).map { String(format: "%02x", $0) }
                let text = "name: other-\(number)\nsha256: \(digest.joined())\nprojects: [demo]\n"
                try text.write(toFile: "\(rig.keysFolder)/other-\(number).yaml", atomically: true, encoding: .utf8)
            }
        }
        let settings = ", wait_ms: 2000, admin_listen: \"127.0.0.1:0\""
        try await EndToEndTests.withGateway(settings, prepare: addOthers) { rig, gateway in
            try await gateway.process.logged("The admin address listens.")
            try await body(rig, gateway)
        }
    }

    @Test func metricsCountByKeyAndOutcome() async throws {
        try await withGateway { _, gateway in
            #expect(try await gateway.send("ok-1").contains("messages/0:"))
            #expect(try await gateway.send("sbx-unregistered-1").contains("UNREGISTERED"))
            #expect(try await gateway.send("sbx-slow-4000-a").contains("fanfare:"))
            #expect(try await gateway.send("ok-2", key: "ffk_wrong").contains("UNAUTHENTICATED"))
            let metrics = Set(try gateway.ask("/metrics").split(separator: "\n"))
            for line in [
                #"fanfare_gateway_requests_total{key="shop",class="2xx"} 2"#,
                #"fanfare_gateway_requests_total{key="shop",class="4xx"} 1"#,
                #"fanfare_gateway_requests_total{key="_none",class="4xx"} 1"#,
                #"fanfare_gateway_answers_total{key="shop",outcome="in_time"} 2"#,
                #"fanfare_gateway_answers_total{key="shop",outcome="deferred"} 1"#,
                #"fanfare_gateway_refusals_total{key="_none",reason="key"} 1"#,
                #"fanfare_gateway_jobs_total{key="shop"} 3"#, #"fanfare_gateway_recipients_total{key="shop"} 3"#,
                #"fanfare_gateway_answer_seconds_count{api="v1"} 4"#, "fanfare_gateway_requests_waiting 0",
                "fanfare_gateway_connections 0", "fanfare_redis_connected 1",
            ] {
                #expect(metrics.contains(line[...]), "\(line)")
            }
        }
    }

    @Test func keysAfterTheFirstHundredShareTheirSeries() async throws {
        try await withGateway(otherKeys: 120) { _, gateway in
            let script = """
                import http.client, sys
                connection = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]))
                for number in range(120):
                    connection.request("GET", "/v1/x", headers={"Authorization": "Bearer ffk_other-%d" % number})
                    answer = connection.getresponse()
                    assert answer.status == 403, answer.read()
                    answer.read()
                """
            let calls = try ChildProcess(
                ["-c", script, String(try gateway.port("The gateway listens."))],
                executable: URL(fileURLWithPath: "/usr/bin/python3")
            )
            #expect(try await calls.wait(seconds: 60) == 0, "\(calls.stderr)")
            let series = try gateway.ask("/metrics").split(separator: "\n").filter {
                $0.hasPrefix("fanfare_gateway_requests_total{") && $0.contains(#"class="4xx""#)
            }
            #expect(series.count == 102)
            #expect(series.contains { $0.hasSuffix(#"{key="_other",class="4xx"} 20"#) }, "\(series)")
            #expect(series.contains { $0.hasSuffix(#"{key="other-7",class="4xx"} 1"#) })
        }
    }

    @Test func clientsThatLeaveAndComeBackAreCounted() async throws {
        try await withGateway { rig, gateway in
            let token = "sbx-slow-3000-a"
            _ = try await gateway.send(token, leaveAfter: "1")
            try await Wait.until("the client to be missed") {
                try gateway.ask("/metrics").contains(#"fanfare_gateway_requests_total{key="shop",class="left"} 1"#)
            }
            try await Wait.until("the request to be remembered") {
                let keys = try await rig.client.send(RedisCommand("KEYS", "fanfare:{demo}:gateway:*"))
                return keys.array?.isEmpty == false
            }
            #expect(try await gateway.send(token).contains("messages/"))
            let metrics = try gateway.ask("/metrics")
            #expect(metrics.contains(#"fanfare_gateway_answers_total{key="shop",outcome="repeated"} 1"#))
            #expect(metrics.contains(#"fanfare_gateway_jobs_total{key="shop"} 1"#))
        }
    }

    @Test func gatewayWithoutRedisIsNotReadyAndLogsItOnce() async throws {
        try await withGateway { rig, gateway in
            try await Wait.until("the gateway to be ready") {
                try gateway.ask("/readyz").contains(#""status":"ready""#)
            }
            rig.redis.kill9()
            try await Wait.until("the gateway to miss Redis") {
                try gateway.ask("/readyz").contains(#""status":"unavailable""#)
            }
            #expect(try gateway.ask("/healthz").contains(#""status":"ok""#), "a restart would not help")
            for number in 0..<5 { #expect(try await gateway.send("away-\(number)").contains("UNAVAILABLE")) }
            #expect(try gateway.ask("/metrics").contains(#"refusals_total{key="shop",reason="unavailable"} 5"#))
            let log = gateway.process.stderr
            #expect(log.components(separatedBy: "Redis does not answer: requests get 503.").count == 2, "\(log)")
            #expect(log.components(separatedBy: "Redis did not answer.").count <= 3, "\(log)")
            try rig.redis.restart()
            try await Wait.until("the gateway to be ready again") {
                try gateway.ask("/readyz").contains(#""status":"ready""#)
            }
            #expect(gateway.process.stderr.contains("Redis answers again."))
        }
    }

    @Test func gatewayThatStopsIsNotReady() async throws {
        try await withGateway { rig, gateway in
            async let waiting = gateway.send("sbx-slow-1500-a")
            try await Wait.until("the send to begin") { try await rig.stats().sends > 0 }
            gateway.process.signal(SIGTERM)
            try await Wait.until("the gateway to stop") { try gateway.ask("/readyz").contains(#""stopping":true"#) }
            #expect(try await waiting.contains("messages/0:"))
        }
    }
}
