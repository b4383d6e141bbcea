import Foundation
import OpenSSLKit
import RedisTransport
import StreamWire
import TestSupport
import Testing

/// A deployment over TLS with client certificates. Each component signs in as its user of `ops/redis/fanfare.acl`.
@Suite struct RedisAccessTests {
    /// A Redis with users and TLS, and the credentials to sign in.
    private struct SecuredRedis {
        let users: RedisUsers
        let server: RedisServer
        let certificates: Certificates
        let client: Certificates.Identity

        init() throws {
            users = try RedisUsers()
            certificates = try Certificates()
            client = try certificates.issue("client", names: [])
            let identity = try certificates.issue("server", names: ["DNS:localhost"])
            server = try RedisServer(
                port: .tls(identity, caFile: certificates.caFile, requireClientCertificate: true),
                config: ["--aclfile", users.file]
            )
        }

        var url: String { "rediss://localhost:\(server.port)" }

        /// Writes a CA file with the authorities of Redis and of the sandbox.
        func caFile(_ rig: Rig) throws -> String {
            let texts = try [certificates.caFile, "\(rig.state.path)/ca.pem"].map {
                try String(contentsOfFile: $0, encoding: .utf8)
            }
            return try certificates.folder.write("both.pem", texts.joined(separator: "\n"))
        }

        func environment(as user: String, _ rig: Rig) throws -> [String: String] {
            [
                "FANFARE_REDIS_USER": user,
                "FANFARE_REDIS_PASSWORD_FILE": try certificates.folder.write("password-\(user)", user + "\n"),
                "FANFARE_REDIS_CERT_FILE": client.certFile, "FANFARE_REDIS_KEY_FILE": client.keyFile,
                "FANFARE_TLS_CA_FILE": try caFile(rig),
            ]
        }

        func connect(as user: String, _ rig: Rig) async throws -> RedisClient {
            let tls = TLSOptions(caFile: try caFile(rig), certFile: client.certFile, keyFile: client.keyFile)
            return try await RedisClient.connect(
                try RedisDeployment(url: url).signedIn(user: user, password: user),
                tls: tls
            )
        }

        /// The refusals in Redis' ACL log, each as `user: command`.
        func refusals() throws -> Set<String> {
            let words = try server.cli("ACL", "LOG").split(separator: "\n").map(String.init)
            var found: Set<String> = []
            for (index, word) in words.enumerated() where word == "object" {
                let user = words[index...].firstIndex(of: "username").map { words[$0 + 1] } ?? "?"
                found.insert("\(user): \(words[index + 1])")
            }
            return found
        }
    }

    /// Runs the command, expects exit status 0 and returns its standard output.
    @discardableResult
    private func run(
        _ arguments: [String],
        as user: String,
        _ secured: SecuredRedis,
        _ rig: Rig,
        _ configuration: String
    ) async throws -> String {
        let process = try ChildProcess(
            arguments + ["-c", configuration],
            environment: try secured.environment(as: user, rig)
        )
        let status = try await process.wait(seconds: 60)
        #expect(status == 0, "\(user): \(arguments): \(process.stderr)")
        return process.stdout
    }

    @Test func eachComponentSignsInAsItsOwnUser() async throws {
        let secured = try SecuredRedis()
        try await withRig(redis: secured.server) { rig in
            try await rig.startSandbox()
            let configuration = try rig.configuration(redisURL: secured.url)
            try await run(["functions", "load"], as: "fanfare-deploy", secured, rig, configuration)
            try await rig.startWorker(configuration, environment: try secured.environment(as: "fanfare-worker", rig))

            let tokens = try secured.certificates.folder.write("tokens", "ok-1\nsbx-unregistered-2\nok-3\n")
            let message = ["--title", "Hello", "--body", "you"]
            try await run(
                ["send", "--id", "one", "--tokens-file", tokens] + message,
                as: "fanfare-producer",
                secured,
                rig,
                configuration
            )
            let job = try await rig.finished("one")
            #expect(job["sent"] == "2" && job["failed"] == "1")
            // The worker reads an audience from the producer's key.
            let producer = try await secured.connect(as: "fanfare-producer", rig)
            defer { producer.close() }
            _ = try await producer.send(RedisCommand("RPUSH", "audience:{demo}:two", "ok-4", "ok-5"))
            _ = try await producer.send(
                RedisCommand(
                    "XADD",
                    "fanfare:{demo}:jobs",
                    "*",
                    "id",
                    "two",
                    "message",
                    "{}",
                    "audience",
                    "audience:{demo}:two"
                )
            )
            try await rig.finished("two")

            try await operate(secured, rig, configuration)

            let consumer = try await secured.connect(as: "fanfare-consumer", rig)
            defer { consumer.close() }
            let results = "fanfare:{demo}:results"
            _ = try await consumer.send(RedisCommand("XGROUP", "CREATE", results, "readers", "0"))
            let read = RedisCommand("XREADGROUP", "GROUP", "readers", "me", "COUNT", "10", "STREAMS", results, ">")
            let entries = StreamEntry.byStream(try await consumer.send(read)).flatMap(\.entries)
            let first = try #require(entries.first)
            #expect(try await consumer.send(RedisCommand("XACK", results, "readers", first.id)).integer == 1)

            // A worker tries to load the functions at each connection and continues without. `send` asks for the
            // project's state, which a producer may not read.
            let expected: Set = ["fanfare-worker: function|load", "fanfare-producer: fcall"]
            #expect(try secured.refusals().subtracting(expected) == [], "no user lacked a right")
            try await expectRefusal(consumer, RedisCommand("XADD", "fanfare:{demo}:jobs", "*", "a", "b"))
            try await expectRefusal(producer, RedisCommand("XRANGE", results, "-", "+"))
            try await expectRefusal(producer, RedisCommand("HSET", "fanfare:{demo}:job:one", "state", "done"))
            try await expectRefusal(producer, RedisCommand("DEL", "fanfare:{demo}:jobs"))
            try await expectRefusal(producer, FunctionLibrary.pauseProject(ProjectKeys(project: "demo"), reason: "x"))
        }
    }

    /// A send with an answer, one whose client leaves, and one that comes back for it.
    @Test func gatewaySignsInAsItsOwnUser() async throws {
        let secured = try SecuredRedis()
        try await withRig(redis: secured.server) { rig in
            try await rig.startSandbox()
            let keys = rig.directory.appendingPathComponent("keys").path
            let configuration = try rig.configuration(
                redisURL: secured.url,
                extra: "gateway: { listen: \"127.0.0.1:0\", keys_dir: \(keys) }"
            )
            try await run(["functions", "load"], as: "fanfare-deploy", secured, rig, configuration)
            try await rig.startWorker(configuration, environment: try secured.environment(as: "fanfare-worker", rig))
            let adding = ["gateway", "key", "add", "shop", "--project", rig.project]
            let key = try await run(adding, as: "fanfare-gateway", secured, rig, configuration)
                .trimmingCharacters(in: .whitespacesAndNewlines)
            let environment = try secured.environment(as: "fanfare-gateway", rig)
            let gateway = try ChildProcess(["gateway", "-c", configuration], environment: environment)
            try await Wait.until("the gateway to listen: \(gateway.stderr)") {
                gateway.stderr.contains("The gateway listens.")
            }
            let port = try #require(gateway.stderr.firstMatch(of: /port=([0-9]+)/)).1
            for (token, patience) in [
                ("ok-1", [String]()), ("sbx-slow-3000-a", ["--leave-after", "1"]), ("sbx-slow-3000-a", []),
            ] {
                let call = try ChildProcess(
                    [Repository.fixture("gateway/call.py"), String(port), rig.project, key, token] + patience,
                    executable: URL(fileURLWithPath: "/usr/bin/python3")
                )
                #expect(try await call.wait(seconds: 60) == 0, "\(call.stderr)")
                #expect(!patience.isEmpty || call.stdout.contains("messages/0:"), "\(call.stdout)")
            }
            gateway.signal(SIGTERM)
            #expect(try await gateway.wait(seconds: 60) == 0, "\(gateway.stderr)")
            #expect(try secured.refusals().subtracting(["fanfare-worker: function|load"]) == [])
        }
    }

    /// Every command of an operator, and a scheduled job that is cancelled.
    private func operate(_ secured: SecuredRedis, _ rig: Rig, _ configuration: String) async throws {
        let operations = [
            ["send", "--id", "later", "--token", "ok-6", "--at", "2100-01-01T00:00:00Z", "--project", "demo"]
                + ["--title", "Hello", "--body", "you"],
            ["project", "ls"], ["project", "pause", "demo"], ["project", "resume", "demo"],
            ["job", "ls", "--all", "--project", "demo"], ["job", "show", "one", "--project", "demo"],
            ["job", "show", "one"], ["pause", "--all", "--yes"], ["resume", "--all", "--yes"],
            ["job", "results", "one", "--project", "demo"], ["dead", "ls", "--project", "demo"],
        ]
        for operation in operations {
            try await run(operation, as: "fanfare-operator", secured, rig, configuration)
        }
        try await Wait.until("intake of the job") { try await rig.job("later")["state"] == "scheduled" }
        try await run(
            ["job", "cancel", "later", "--project", "demo"],
            as: "fanfare-operator",
            secured,
            rig,
            configuration
        )
        try await rig.finished("later")
    }

    private func expectRefusal(_ client: RedisClient, _ command: RedisCommand) async throws {
        let error = await #expect(throws: RedisError.self) { _ = try await client.send(command) }
        #expect(error?.code == .noPerm)
    }

    @Test func failedSignInReportsItsReason() async throws {
        let secured = try SecuredRedis()
        try await withRig(redis: secured.server) { rig in
            try await rig.startSandbox()
            let configuration = try rig.configuration(redisURL: secured.url)
            let good = try secured.environment(as: "fanfare-operator", rig)
            let wrongPassword = try secured.certificates.folder.write("wrong-password", "wrong")
            for (change, reason) in [
                (["FANFARE_REDIS_CERT_FILE": "", "FANFARE_REDIS_KEY_FILE": ""], "certificate"),
                (["FANFARE_REDIS_PASSWORD_FILE": wrongPassword], "WRONGPASS"),
                (
                    ["FANFARE_REDIS_PASSWORD_FILE": "/nowhere"],
                    "redis.password_file (FANFARE_REDIS_PASSWORD_FILE): No such file"
                ),
                (["FANFARE_REDIS_PASSWORD_FILE": ""], "redis.user: has no password"),
                (
                    ["FANFARE_REDIS_URL": "rediss://u:p@localhost:\(secured.server.port)"],
                    "redis.user: redis.url names a user"
                ),
                (["FANFARE_REDIS_URL": "redis://localhost:1"], "redis.cert_file: redis.url does not use TLS"),
                (["FANFARE_REDIS_URL": "rediss://127.0.0.1:\(secured.server.port)"], "certificate verify failed"),
            ] {
                let process = try ChildProcess(
                    ["project", "ls", "-c", configuration],
                    environment: good.merging(change) { $1 }
                )
                let status = try await process.wait(seconds: 60)
                #expect(status == 78 || status == 69, "\(change)")
                #expect(process.stderr.contains(reason), "\(process.stderr)")
            }
        }
    }
}
