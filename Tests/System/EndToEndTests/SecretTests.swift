import Foundation
import RedisTransport
import StreamWire
import TestSupport
import Testing

/// Searches the outputs of a worker for secrets and for producers' content: its log, Redis, and the commands' output.
@Suite struct SecretTests {
    /// Strings that mark secrets and content.
    private struct Canaries {
        /// Lines from the middle of the private key, and the server key.
        var secrets: [String]
        /// Parts of tokens and payloads, which belong in Redis and FCM but not in logs.
        var contents = ["CANARYTOKEN", "CANARYTITLE", "CANARYVALUE"]
    }

    private func canaries(_ rig: Rig) throws -> Canaries {
        let state = rig.state.path
        let account = try String(contentsOfFile: "\(state)/service-account-\(rig.project).json", encoding: .utf8)
        let key = try String(contentsOfFile: "\(state)/server-key-\(rig.project)", encoding: .utf8)
        let lines = account.components(separatedBy: "\\n").filter { $0.count >= 60 && !$0.contains("-----") }
        try #require(lines.count > 10)
        return Canaries(
            secrets: [
                lines[3], lines[7], key.trimmingCharacters(in: .whitespacesAndNewlines), "Bearer ", "REDISCANARY",
            ]
        )
    }

    /// Everything that Redis holds, as text.
    private func contents(_ rig: Rig) throws -> String {
        var text = ""
        for key in try rig.redis.cli("--scan").split(separator: "\n").map(String.init) {
            switch try rig.redis.cli("TYPE", key) {
            case "stream": text += try rig.redis.cli("XRANGE", key, "-", "+")
            case "hash": text += try rig.redis.cli("HGETALL", key)
            case "string": text += try rig.redis.cli("GET", key)
            case "list": text += try rig.redis.cli("LRANGE", key, "0", "-1")
            case "set": text += try rig.redis.cli("SMEMBERS", key)
            default: text += try rig.redis.cli("ZRANGE", key, "0", "-1")
            }
            text += key
        }
        return text
    }

    /// Pushes jobs with every kind of outcome, so that every path of a worker logs.
    private func push(_ rig: Rig) async throws {
        let message = #"{"notification":{"title":"CANARYTITLE"},"data":{"k":"CANARYVALUE"}}"#
        let tokens = ["", "sbx-unregistered-", "sbx-invalid-", "sbx-mismatch-", "sbx-auth-", "sbx-unavailable-1-"]
            .map { $0 + "CANARYTOKEN" }
        try await rig.push(["id": "all", "message": message, "tokens": Rig.tokens(tokens), "results": "all"])
        let bad: [[String: String]] = [
            ["message": message, "token": "CANARYTOKEN with a blank"],
            ["message": message, "tokens": #"["CANARYTOKEN","CANARYTOKEN CANARYTOKEN"]"#],
            ["message": #"{"data":{"k":{"CANARYVALUE":1}}}"#, "token": "CANARYTOKEN"],
            ["message": #"{"notification":{"title":"CANARYTITLE"},"#, "token": "CANARYTOKEN"],
            ["message": message, "token": "CANARYTOKEN", "topic": "CANARYTOKEN"],
            ["message": message, "condition": "'CANARYTOKEN"],
            ["op": "subscribe", "topic": "t", "tokens": "CANARYTOKEN"],
        ]
        for fields in bad { try await rig.push(fields) }
        try await rig.push(["op": "subscribe", "topic": "t", "tokens": Rig.tokens(tokens), "id": "topic"])
        try await rig.finished("all")
        try await rig.finished("topic")
        try await Wait.until("the rejections") { try await rig.length("dead") == bad.count }
    }

    @Test(arguments: ["v1", "legacy", "xmpp"])
    func nothingSecretIsLoggedStoredOrPrinted(transport: String) async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            let canaries = try canaries(rig)
            _ = try rig.redis.cli("ACL", "SETUSER", "worker", "on", ">REDISCANARY", "~*", "&*", "+@all")
            let sender = transport == "xmpp" ? try rig.xmppSettings : "sender_id: \"\(try rig.senderID)\""
            let file = try rig.configuration(
                transport: transport,
                redisURL: "unix://worker:REDISCANARY@\(rig.redis.socketPath)",
                project: "iid_endpoint: https://localhost:\(rig.tlsPort)\n    \(sender)",
                extra: "log: { level: trace, format: json }"
            )
            let keyLog = rig.directory.appendingPathComponent("keys.log").path
            let proxy = "http://127.0.0.1:1"
            let worker = try await rig.startWorker(
                file,
                environment: [
                    "SSLKEYLOGFILE": keyLog, "SSL_CERT_FILE": "/nowhere", "SSL_CERT_DIR": "/nowhere",
                    "https_proxy": proxy,
                    "HTTPS_PROXY": proxy, "http_proxy": proxy, "ALL_PROXY": proxy, "all_proxy": proxy,
                ]
            )
            try await push(rig)
            // A peer whose error repeats the request's content.
            let words =
                #"{\"error\":{\"code\":400,\"message\":\"CANARYTOKEN CANARYVALUE\",\"status\":\"CANARYTOKEN\"}}"#
            let action = transport == "xmpp" ? #"{"nack":"BAD_REGISTRATION"}"# : #"{"status":400,"body":"\#(words)"}"#
            let path = ["v1": "/v1/", "legacy": "/fcm/"][transport] ?? transport
            _ = try await rig.addFault(#"{"match":{"path":"\#(path)"},"action":\#(action),"times":1}"#)
            try await rig.push(["id": "again", "message": #"{"data":{"k":"CANARYVALUE"}}"#, "token": "CANARYTOKEN-2"])
            #expect(try await rig.finished("again")["failed"] == "1")
            worker.signal(SIGTERM)
            #expect(try await worker.wait(seconds: 40) == 0)

            let log = worker.stderr + worker.stdout
            #expect(log.contains("A job was rejected."), "the searched text is the log")
            for canary in canaries.secrets + canaries.contents {
                #expect(!log.contains(canary), "\(canary) in the log: \(Self.around(canary, log))")
            }
            #expect(!FileManager.default.fileExists(atPath: keyLog), "SSLKEYLOGFILE had an effect")
            let stored = try contents(rig)
            #expect(stored.contains("CANARYTOKEN"), "the searched text is Redis' content")
            var printed = ""
            for command in [
                ["doctor", "--json"], ["config", "check"], ["job", "ls", "--all"], ["dead", "ls", "--json"],
            ] {
                let project = command[0] == "job" || command[0] == "dead" ? ["--project", rig.project] : []
                let run = try ChildProcess(command + ["-c", file] + project)
                _ = try await run.wait()
                printed += run.stdout + run.stderr
            }
            for secret in canaries.secrets {
                #expect(!stored.contains(secret), "\(secret.prefix(12)) in Redis: \(Self.around(secret, stored))")
                #expect(!printed.contains(secret), "\(secret.prefix(12)) is printed: \(Self.around(secret, printed))")
            }
        }
    }

    private static func around(_ canary: String, _ text: String) -> String {
        guard let range = text.range(of: canary) else { return "" }
        let start = text.index(range.lowerBound, offsetBy: -200, limitedBy: text.startIndex) ?? text.startIndex
        let end = text.index(range.upperBound, offsetBy: 60, limitedBy: text.endIndex) ?? text.endIndex
        return String(text[start..<end])
    }

    /// Other users of the machine can read a worker's arguments and possibly a core file.
    @Test func runningWorkerHidesItsPasswordAndWritesNoCoreFile() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            _ = try rig.redis.cli("ACL", "SETUSER", "worker", "on", ">REDISCANARY", "~*", "&*", "+@all")
            let url = "unix://worker:REDISCANARY@\(rig.redis.socketPath)"
            let worker = try await rig.startWorker(try rig.configuration(), ["--redis", url])
            func read(_ name: String) throws -> String {
                String(
                    decoding: try Data(contentsOf: URL(fileURLWithPath: "/proc/\(worker.pid)/\(name)")),
                    as: UTF8.self
                )
            }
            let line = try read("cmdline")
            #expect(line.contains("unix://worker:***********@"))
            #expect(!line.contains("REDISCANARY"))
            #expect(worker.stderr.contains("every user can see command lines"))
            let core = try read("limits").split(separator: "\n").first { $0.hasPrefix("Max core file size") }
            #expect(core?.split(separator: " ").filter { $0 == "0" }.count == 2, "\(core ?? "")")
        }
    }
}
