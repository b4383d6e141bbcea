import FanfareJSON
import FanfareSandbox
import Foundation
import OpenSSLKit
import Testing

@Suite struct ServerTests {
    @Test func `every file exists before the first connection, for its owner only`() async throws {
        try await RunningSandbox.with { sandbox async throws in
            let names = [
                "ca.pem", "server-key-demo", "sender-id-demo", "service-account-demo.json", "server-key-other",
                "sender-id-other", "service-account-other.json",
            ]
            for name in names {
                let attributes = try FileManager.default.attributesOfItem(atPath: sandbox.directory + "/" + name)
                #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
            }
            let account = try Account(file: sandbox.directory + "/service-account-demo.json")
            #expect(account.tokenURI == "https://localhost:\(sandbox.ports.data)/token")
        }
    }

    @Test func `the control port answers to names of this machine only`() async throws {
        try await RunningSandbox.with { sandbox async throws in
            let url = "http://127.0.0.1:\(sandbox.ports.control)/stats"
            let names = ["localhost", "127.0.0.1:1", "127.9.8.7", "[::1]:8480", "LOCALHOST:80"]
            for name in names {
                #expect(try await sandbox.client.ask(url, headers: ["Host: \(name)"]).status == 200, "\(name)")
            }
            let others = ["rebound.example", "127.0.0.1.example", "10.0.0.1", "localhost.example:8480", "127.0.0.256"]
            for name in others {
                #expect(try await sandbox.client.ask(url, headers: ["Host: \(name)"]).status == 403, "\(name)")
            }
        }
    }

    @Test func `the control port answers to the machine's host name, also beyond loopback`() async throws {
        try await RunningSandbox.with({ $0.controlListen = "0.0.0.0" }) { sandbox async throws in
            let name = ProcessInfo.processInfo.hostName
            // 127.0.0.2 is another address than the default one.
            let url = "http://127.0.0.2:\(sandbox.ports.control)/stats"
            #expect(try await sandbox.client.ask(url, headers: ["Host: \(name):8480"]).status == 200)
            #expect(try await sandbox.client.ask(url, headers: ["Host: x\(name):8480"]).status == 403)
        }
    }

    @Test func `the credentials name the token URI of the options`() async throws {
        try await RunningSandbox.with({ $0.tokenURI = "https://oauth2.googleapis.com/token" }) { sandbox async throws in
            let account = try Account(file: sandbox.directory + "/service-account-demo.json")
            #expect(account.tokenURI == "https://oauth2.googleapis.com/token")
        }
    }

    @Test(arguments: [
        "http://localhost:1/token", "https://sandbox.example/token", "https:///token", "localhost", "https://localhost",
    ])
    func `a token URI that no client could use is refused`(uri: String) {
        var options = SandboxOptions(stateDirectory: "/nonexistent", projects: ["demo"])
        options.tokenURI = uri
        #expect { try options.check() } throws: { "\($0)".hasPrefix("token-uri: ") }
    }

    @Test(arguments: [
        [String](), ["localhost", "evil.example"], ["localhost", "localhost"], ["localhost, evil.example"],
        ["localhost"],
    ])
    func `a request names its host once, on the control port and over HTTP 1 on the TLS port`(
        hosts: [String]
    ) async throws {
        try await RunningSandbox.with { sandbox async throws in
            let lines = hosts.map { "Host: \($0)\r\n" }.joined()
            let head = "\(lines)Connection: close\r\n"
            let plain = try await Command.run(
                "/bin/bash",
                ["-c", #"exec 3<>"/dev/tcp/127.0.0.1/$1"; cat >&3; exec timeout 60 cat <&3"#, "bash"]
                    + ["\(sandbox.ports.control)"],
                input: "GET /stats HTTP/1.1\r\n\(head)\r\n"
            )
            let isGood = hosts == ["localhost"]
            #expect(plain.output.hasPrefix("HTTP/1.1 \(isGood ? 200 : 400) "), "\(plain.output)")
            let key = try sandbox.file("server-key-demo")
            let body = #"{"to":"t"}"#
            let fields = "Authorization: key=\(key)\r\nContent-Type: application/json\r\n"
            let tls = try await Command.run(
                "/usr/bin/env",
                ["openssl", "s_client", "-quiet", "-verify_quiet", "-connect", "localhost:\(sandbox.ports.data)"]
                    + ["-CAfile", sandbox.directory + "/ca.pem", "-alpn", "http/1.1"],
                input: "POST /fcm/send HTTP/1.1\r\n\(head)\(fields)Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
            )
            #expect(tls.output.hasPrefix("HTTP/1.1 \(isGood ? 200 : 400) "), "\(tls.output)")
            #expect(try await sandbox.statistic("sends") == (isGood ? 1 : 0))
        }
    }

    @Test func `a body that is too large is refused with a sentence`() async throws {
        try await RunningSandbox.with { sandbox async throws in
            let body = String(repeating: "x", count: 10_000_000)
            let control = try await sandbox.control("POST", "/devices", body)
            #expect(control.status == 413 && control.body.contains("may have 1048576 bytes"), "\(control.body)")
            #expect(try await sandbox.control("GET", "/stats").status == 200)
            let send = try await sandbox.legacy(body)
            #expect(send.status == 413 && send.body.contains("may have 4194304 bytes"), "\(send.body)")
        }
    }

    @Test func `a second start reuses keys and certificates, and names its own port`() async throws {
        let directory = NSTemporaryDirectory() + "fanfare-sandbox-" + UUID().uuidString
        defer { try? FileManager.default.removeItem(atPath: directory) }
        var first: [String] = []
        var secrets: [String] = []
        for round in 0..<2 {
            try await RunningSandbox.with(directory: directory) { sandbox async throws in
                let kept = try ["ca.pem", "server-key-demo", "sender-id-demo"].map { try sandbox.file($0) }
                let account = try Account(file: directory + "/service-account-demo.json")
                #expect(account.tokenURI.hasSuffix(":\(sandbox.ports.data)/token"))
                if round == 0 { first = kept } else { #expect(first == kept) }
                secrets.append(try account.key.privateKeyPEM())
                #expect(try await sandbox.legacy(#"{"to":"t"}"#).status == 200)
            }
        }
        #expect(secrets.count == 2)
        #expect(secrets.first == secrets.last)
    }

    @Test(arguments: [("--http2", "2"), ("--http1.1", "1.1")])
    func `a signed assertion is exchanged for a token that may send`(option: String, version: String) async throws {
        try await RunningSandbox.with { sandbox async throws in
            let account = try Account(file: sandbox.directory + "/service-account-demo.json")
            let token = try await account.accessToken(sandbox)
            let headers = ["authorization: Bearer " + token, "content-type: application/json"]
            let path = "/v1/projects/demo/messages:send"
            let reply = try await sandbox.ask(
                path,
                #"{"message":{"token":"sbx-apple-1","notification":{"title":"T"}}}"#,
                headers: headers,
                options: [option]
            )
            #expect(reply.status == 200)
            #expect(reply.httpVersion == version)
            #expect(reply.headers["date"] != nil)
            let foreign = try await sandbox.ask(
                "/v1/projects/other/messages:send",
                #"{"message":{"token":"t"}}"#,
                headers: headers,
                options: [option]
            )
            #expect(foreign.status == 403)
            let line = try await sandbox.control("GET", "/deliveries?token=sbx-apple-1").body
            let delivery = try #require(try JSONParser.parse(Array(line.utf8)).object)
            #expect(delivery["platform"] == "apple")
            #expect(delivery["payload"]?.object?["aps"]?.object?["alert"]?.object?["title"] == "T")
        }
    }

    @Test func `an assertion signed with another key gets no token`() async throws {
        try await RunningSandbox.with { sandbox async throws in
            let account = try Account(file: sandbox.directory + "/service-account-demo.json")
            let other = try Account(file: sandbox.directory + "/service-account-other.json")
            let reply = try await sandbox.client.ask(account.tokenURI, body: try account.form(signedBy: other.key))
            #expect(reply.status == 400)
            #expect(reply.body.contains("Invalid JWT Signature."))
        }
    }

    @Test func `an access token expires when its configured lifetime ends`() async throws {
        try await RunningSandbox.with({ $0.tokenLifetimeSeconds = 1 }) { sandbox async throws in
            let account = try Account(file: sandbox.directory + "/service-account-demo.json")
            let headers = ["authorization: Bearer " + (try await account.accessToken(sandbox))]
            let path = "/v1/projects/demo/messages:send"
            let body = #"{"message":{"token":"t"}}"#
            // Its second is a real one, and it is over when the server says so.
            var reply = try await sandbox.ask(path, body, headers: headers)
            let patience = ContinuousClock.now + .seconds(60)
            while reply.status == 200, ContinuousClock.now < patience {
                reply = try await sandbox.ask(path, body, headers: headers)
            }
            #expect(reply.status == 401)
            #expect(reply.body.contains("ACCESS_TOKEN_EXPIRED"))
        }
    }

    @Test func `a client with the real time still sends after the clock was moved`() async throws {
        try await RunningSandbox.with { sandbox async throws in
            let account = try Account(file: sandbox.directory + "/service-account-demo.json")
            let path = "/v1/projects/demo/messages:send"
            let body = #"{"message":{"token":"t"}}"#
            let old = ["authorization: Bearer " + (try await account.accessToken(sandbox))]
            let moved = try await sandbox.control("POST", "/clock", #"{"advance_ms":25920000000}"#)
            #expect(moved.status == 200)
            #expect(try await sandbox.ask(path, body, headers: old).status == 200)
            let fresh = ["authorization: Bearer " + (try await account.accessToken(sandbox))]
            #expect(try await sandbox.ask(path, body, headers: fresh).status == 200)
        }
    }

    @Test func `a request with a thousand long tokens passes the flow control windows`() async throws {
        try await RunningSandbox.with { sandbox async throws in
            let filler = String(repeating: "x", count: 1_000)
            let list = (0..<1_000).map { JSONValue.string("t\($0)-" + filler) }
            let reply = try await sandbox.legacy(JSONValue.object(["registration_ids": .array(list)]).jsonText)
            #expect(reply.status == 200)
            #expect(try await sandbox.statistic("accepted") == 1_000)
            let large = #"{"to":""# + String(repeating: "x", count: 5 << 20) + #""}"#
            for option in ["--http2", "--http1.1"] {
                #expect(try await sandbox.legacy(large, options: [option]).status == 413)
            }
        }
    }

    @Test func `a setting out of range is named`() async throws {
        var options = SandboxOptions(stateDirectory: "/nonexistent", projects: ["Demo"])
        #expect(throws: SandboxError.self) { try options.check() }
        options.projects = ["demo", "demo"]
        #expect(throws: SandboxError.self) { try options.check() }
        options.projects = ["demo"]
        try options.check()
        options.port = 70_000
        #expect(throws: SandboxError.self) { try options.check() }
    }

    /// A stop that waited for the connection's own end would never end.
    @Test(.timeLimit(.minutes(10))) func `a silent connection does not keep a sandbox from its stop`() async throws {
        // Opened and left alone, before TLS and outside HTTP.
        let silent = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        try #require(silent >= 0)
        defer { close(silent) }
        try await RunningSandbox.with { sandbox async throws in
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = in_port_t(UInt16(sandbox.ports.data)).bigEndian
            address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
            let connected = withUnsafeBytes(of: &address) { bytes in
                bytes.baseAddress.map {
                    connect(silent, $0.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
                }
            }
            #expect(connected == 0)
            #expect(try await sandbox.legacy(#"{"to":"t"}"#).status == 200)
        }
    }

    @Test func `a port in use is an error, not a hang`() async throws {
        try await RunningSandbox.with { sandbox async throws in
            await #expect(throws: SandboxError.self) {
                try await RunningSandbox.with({ $0.port = sandbox.ports.data }) { _ in }
            }
        }
    }
}
