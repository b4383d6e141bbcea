import Foundation
import RedisTransport
import StreamWire
import TestSupport
import Testing

/// Audiences over HTTP, from an upload to the devices, and the gateway's certificate.
@Suite struct GatewayAudienceTests {
    private struct Gateway {
        let process: ChildProcess
        let origin: String
        let key: String
        let folder: URL

        /// - Returns: the status, the body and the headers.
        func call(
            _ method: String,
            _ path: String,
            _ body: [UInt8] = [],
            _ headers: String...,
            key: String? = nil
        ) async throws -> (status: Int, body: [String: Any], headers: String) {
            let file = folder.appendingPathComponent("body-\(UInt64.random(in: 0 ..< .max))")
            try Data(body).write(to: file)
            var arguments = ["-sS", "-D", "-", "-X", method, "-H", "Authorization: Bearer \(key ?? self.key)"]
            for header in headers { arguments += ["-H", header] }
            if method == "PUT" { arguments += ["--data-binary", "@\(file.path)"] }
            let curl = try ChildProcess(
                arguments + ["\(origin)\(path)"],
                executable: URL(fileURLWithPath: "/usr/bin/curl")
            )
            #expect(try await curl.wait(seconds: 120) == 0, "\(curl.stderr)\n\(process.stderr)")
            let parts = curl.stdout.components(separatedBy: "\r\n\r\n")
            let head = try #require(parts.dropLast().last)
            let status = try #require(Int(head.split(separator: " ")[1]))
            let object = try? JSONSerialization.jsonObject(with: Data((parts.last ?? "").utf8)) as? [String: Any]
            return (status, object ?? [:], head)
        }
    }

    private static let path = "/v1/projects/demo/audiences/all"
    private static let list = "audience:{demo}:gateway:all"
    private static let ndjson = "Content-Type: application/x-ndjson"

    private func withGateway(
        _ settings: String = "",
        scheme: String = "http",
        _ body: (Rig, Gateway) async throws -> Void
    ) async throws {
        try await EndToEndTests.withGateway(settings) { rig, gateway in
            let origin = "\(scheme)://localhost:\(gateway.port)"
            let (process, key) = (gateway.process, gateway.key)
            try await body(rig, Gateway(process: process, origin: origin, key: key, folder: rig.directory))
        }
    }

    private func elements(_ rig: Rig) async throws -> [String] {
        let reply = try await rig.client.send(RedisCommand("LRANGE", Self.list, "0", "-1"))
        return (reply.array ?? []).compactMap { $0.bytes.map { String(decoding: $0, as: UTF8.self) } }
    }

    private func keys(_ rig: Rig) async throws -> Int? {
        try await rig.client.send(RedisCommand("KEYS", "audience:*")).array?.count
    }

    @Test func uploadedAudienceIsSentTo() async throws {
        try await withGateway { rig, gateway in
            let tokens = (0..<2_500).map { "device-\($0)" }
            let lines = Array(tokens.map { "\"\($0)\"\n" }.joined().utf8)
            let stored = try await gateway.call("PUT", "\(Self.path)?expires=3600", lines, Self.ndjson)
            #expect(stored.status == 201, "\(stored)")
            #expect(stored.body["audience"] as? String == Self.list && stored.body["count"] as? Int == 2_500)
            #expect(stored.body["audience_format"] as? String == "token")
            #expect(try await elements(rig) == tokens)
            #expect(try await keys(rig) == 1)
            let left = try await rig.client.send(RedisCommand("PTTL", Self.list)).integer ?? 0
            #expect((3_000_000...3_600_000).contains(left))
            _ = try await rig.client.send(
                RedisCommand("XADD", "fanfare:{demo}:jobs", "*", "id", "a", "message", "{}", "audience", Self.list)
            )
            try await Wait.until("the job to be done") {
                let state = try await rig.client.send(RedisCommand("HGET", "fanfare:{demo}:job:a", "state"))
                return state.bytes.map { String(decoding: $0, as: UTF8.self) } == "done"
            }
            #expect(try await rig.deliveries("device-2499").count == 1)
        }
    }

    @Test func audienceAppearsWholeOrNotAtAll() async throws {
        try await withGateway { rig, gateway in
            let csv = try runProgram("/bin/bash", ["-c", "printf 'token,name\\na,Ana\\nb,\"Bo\nB\"\\n' | gzip -c"])
            let stored = try await gateway.call(
                "PUT",
                Self.path,
                csv,
                "Content-Type: text/csv",
                "Content-Encoding: gzip"
            )
            #expect(stored.status == 201 && stored.body["audience_format"] as? String == "json", "\(stored)")
            let before = try await elements(rig)
            #expect(before == [#"{"token":"a","vars":{"name":"Ana"}}"#, #"{"token":"b","vars":{"name":"Bo\nB"}}"#])
            // 3,000 lines are in Redis before the bad one comes.
            let lines = (0..<3_000).map { "\"t\($0)\"\n" }.joined() + "\"b c\"\n"
            let refused = try await gateway.call("PUT", Self.path, Array(lines.utf8), Self.ndjson)
            #expect(refused.status == 422 && refused.headers.contains("application/problem+json"), "\(refused)")
            #expect((refused.body["detail"] as? String)?.hasPrefix("line 3001: token: ") == true, "\(refused)")
            #expect(try await elements(rig) == before)
            #expect(try await keys(rig) == 1)
            let again = try await gateway.call("PUT", Self.path, Array("\"c\"".utf8), Self.ndjson)
            #expect(again.status == 200)
            #expect(try await elements(rig) == ["c"])
            #expect(try await gateway.call("DELETE", Self.path).status == 204)
            #expect(try await gateway.call("DELETE", Self.path).status == 404)
            #expect(try await keys(rig) == 0)
        }
    }

    @Test func refusalsAreProblems() async throws {
        try await withGateway { rig, gateway in
            let line = Array("\"a\"\n".utf8)
            let refusals: [(status: Int, call: (status: Int, body: [String: Any], headers: String))] = [
                (401, try await gateway.call("PUT", Self.path, line, Self.ndjson, key: "ffk_wrong")),
                (403, try await gateway.call("PUT", "/v1/projects/other/audiences/all", line, Self.ndjson)),
                (405, try await gateway.call("POST", Self.path, line, Self.ndjson)),
                (415, try await gateway.call("PUT", Self.path, line, "Content-Type: application/json")),
                (415, try await gateway.call("PUT", Self.path, line, Self.ndjson, "Content-Encoding: br")),
                (400, try await gateway.call("PUT", Self.path, line, Self.ndjson, "Content-Encoding: gzip")),
                (422, try await gateway.call("PUT", Self.path + "%20b", line, Self.ndjson)),
                (400, try await gateway.call("PUT", Self.path + "?expires=1", line, Self.ndjson)),
                (400, try await gateway.call("PUT", Self.path + "?expire=60", line, Self.ndjson)),
                (400, try await gateway.call("DELETE", Self.path + "?expires=60")),
                (406, try await gateway.call("PUT", Self.path, line, Self.ndjson, "Accept: text/html")),
                (404, try await gateway.call("PUT", Self.path + "/", line, Self.ndjson)),
                (422, try await gateway.call("PUT", Self.path, [], Self.ndjson)),
            ]
            for (status, call) in refusals {
                #expect(call.status == status && call.body["status"] as? Int == status, "\(call)")
                #expect(call.headers.contains("application/problem+json"))
                #expect(call.body["type"] as? String == "about:blank")
                if status == 405 { #expect(call.headers.lowercased().contains("allow: put, delete"), "\(call)") }
            }
            rig.redis.kill9()
            let away = try await gateway.call("PUT", Self.path, line, Self.ndjson)
            #expect(away.status == 503 && away.headers.lowercased().contains("retry-after: "), "\(away)")
            try rig.redis.restart()
            try await Wait.until("the gateway to write again") {
                try await gateway.call("PUT", Self.path, line, Self.ndjson).status == 201
            }
        }
    }

    @Test func newConnectionsUseANewCertificate() async throws {
        let certificates = try Certificates()
        let names = ["DNS:localhost", "IP:127.0.0.1"]
        let (first, second) = (
            try certificates.issue("first", names: names), try certificates.issue("second", names: names)
        )
        let files = ", cert_file: \(first.certFile), key_file: \(first.keyFile)"
        try await withGateway(files, scheme: "https") { _, gateway in
            func subject() async throws -> String {
                let client = try ChildProcess(
                    [
                        "-c",
                        "openssl s_client -connect \(gateway.origin.dropFirst(8)) </dev/null | openssl x509 -noout -subject",
                    ],
                    executable: URL(fileURLWithPath: "/bin/bash")
                )
                _ = try await client.wait(seconds: 60)
                return client.stdout
            }
            #expect(try await subject().contains("first"))
            // A key that is not the certificate's.
            try Data(contentsOf: URL(fileURLWithPath: second.certFile)).write(to: URL(fileURLWithPath: first.certFile))
            try await Wait.until("the fault to be logged") { gateway.process.stderr.contains("the old one stays") }
            #expect(try await subject().contains("first"))
            try Data(contentsOf: URL(fileURLWithPath: second.keyFile)).write(to: URL(fileURLWithPath: first.keyFile))
            try await Wait.until("the certificate to be read") { try await subject().contains("second") }
            let logged = gateway.process.stderr.components(separatedBy: "the old one stays").count
            #expect(logged == 2, "a fault is logged once: \(gateway.process.stderr)")
        }
    }
}
