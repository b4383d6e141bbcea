import FanfareClient
import Foundation
import StreamWire
import Testing

@testable import FanfareDashboard

/// The rules for reading and acting, over HTTP.
@Suite struct RequestAuthorizerTests {
    private static let token = "a-token-of-some-length"

    @Test func everyReplyHasSecurityHeadersAndThePageNoInlineScript() async throws {
        try await withDashboard { bench in
            let page = try await bench.web.get("/")
            #expect(page.status == 200 && page.headers["content-type"] == "text/html; charset=utf-8")
            for path in ["/", "/app.js", "/api/fleet", "/nowhere"] {
                let headers = try await bench.web.get(path).headers
                let policy = headers["content-security-policy"] ?? ""
                #expect(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"))
                #expect(!policy.contains("unsafe") && headers["x-frame-options"] == "DENY")
                #expect(headers["x-content-type-options"] == "nosniff" && headers["cache-control"] == "no-store")
                #expect(headers["access-control-allow-origin"] == nil)
            }
            let inline = page.body.firstMatch(of: /<script(?![^>]*\ssrc=)|\sstyle=|\son[a-z]+=|javascript:/)
            #expect(inline == nil)
            let files = page.body.matches(of: /(?:src|href)="([a-z]+\.[a-z]+)"/).map { "/\($0.1)" }
            #expect(files.count >= 3)
            for file in files { #expect(try await bench.web.get(file).status == 200, "\(file)") }
        }
    }

    /// Text from outside must not become HTML.
    @Test func scriptsNeverParseTextAsHTML() async throws {
        try await withDashboard { bench in
            for file in PageAssets.scriptPaths {
                let script = try await bench.web.get(file)
                #expect(script.status == 200 && script.headers["content-type"] == "text/javascript; charset=utf-8")
                #expect(
                    script.body.firstMatch(of: /innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(/) == nil
                )
                let imports = script.body.matches(of: /from "\.(\/[a-z]+\.js)"/).map { String($0.1) }
                for name in imports { #expect(try await bench.web.get(name).status == 200, "\(name)") }
            }
        }
    }

    /// DNS rebinding: another site's name that resolves to this machine.
    @Test(arguments: [
        ("evil.example:8490", 421), ("127.0.0.1.evil.example", 421), ("[::1]:9", 200), ("localhost:8490", 200),
        ("127.0.0.1", 200), ("LOCALHOST", 200), ("[::1", 400), ("127.0.0.1:x", 400),
    ])
    func foreignHostIsRefused(host: String, status: Int) async throws {
        try await withDashboard { bench in
            var web = bench.web
            web.host = host
            let answer = try await web.get("/session")
            #expect(answer.status == status)
        }
    }

    @Test(arguments: [
        [String](), ["127.0.0.1:8490", "evil.example"], ["evil.example", "127.0.0.1:8490"], ["127.0.0.1", "127.0.0.1"],
    ])
    func repeatedHostIsRefused(hosts: [String]) async throws {
        try await withDashboard { bench in
            let socket = try WebSocketBytes(port: bench.web.port)
            let lines = hosts.map { "Host: \($0)\r\n" }.joined()
            socket.send("GET /session HTTP/1.1\r\n\(lines)Connection: close\r\n\r\n")
            #expect(try WebClient.answer(try await socket.rest()).status == 400)
        }
    }

    @Test func forgedRequestChangesNothing() async throws {
        try await withDashboard { bench in
            let path = "/api/projects/demo/pause"
            let forgeries: [[String: String]] = [
                ["X-Fanfare-Request": ""], ["Origin": "http://evil.example"], ["Origin": "null"],
                ["Origin": "http://127.0.0.1:1"], ["Sec-Fetch-Site": "cross-site"], ["Sec-Fetch-Site": "same-site"],
            ]
            for headers in forgeries {
                let answer = try await bench.web.post(path, headers: headers)
                #expect(answer.status == 403 && answer.json["error"] as? String == "forged", "\(headers)")
            }
            #expect(try await bench.web.post(path, headers: ["Content-Type": "text/plain"]).status == 415)
            #expect(try await bench.web.ask("PUT", path).status == 405)
            #expect(try await bench.web.get(path).status == 404)
            #expect(try await bench.projectOperator.overview().isPaused == false)
            let body = #"{"reason":"<b>why</b>"}"#
            #expect(try await bench.web.post(path, body).status == 200)
            let overview = try await bench.projectOperator.overview()
            #expect(overview.isPaused && overview.pauseReason == "<b>why</b>")
        }
    }

    @Test func requestWithoutTheTokenIsRefused() async throws {
        try await withDashboard({ $0.token = Self.token }) { bench in
            for path in ["/api/fleet", "/api/events", "/api/jobs?id=j", "/api/projects/demo/jobs", "/api/nowhere"] {
                #expect(try await bench.web.get(path).status == 401, "\(path)")
            }
            #expect(try await bench.web.post("/api/projects/demo/pause").status == 401)
            #expect(try await bench.web.get("/").status == 200)
            let session = try await bench.web.get("/session").json
            #expect(session["known"] as? Bool == false && session["version"] == nil)
            var web = bench.web
            for wrong in ["Bearer \(Self.token)x", "Bearer", "Basic \(Self.token)", "Bearer a-token"] {
                web.headers["Authorization"] = wrong
                #expect(try await web.get("/api/jobs?id=j").status == 401, "\(wrong)")
            }
            web.headers["Authorization"] = "bearer \(Self.token)"
            #expect(try await web.get("/api/jobs?id=j").status == 200)
        }
    }

    @Test func sessionBeginsAtLoginAndEndsAtLogout() async throws {
        try await withDashboard({ $0.token = Self.token }) { bench in
            let wrong = #"{"token":"wrong"}"#
            #expect(try await bench.web.post("/login", wrong).status == 401)
            let login = try await bench.web.post("/login", #"{"token":"\#(Self.token)"}"#)
            let cookie = try #require(login.headers["set-cookie"])
            #expect(login.status == 200 && cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"))
            #expect(!cookie.contains(Self.token) && !cookie.contains("Secure"))
            let tls = ["Origin": "https://\(bench.web.host)"]
            let secure = try await bench.web.post("/login", #"{"token":"\#(Self.token)"}"#, headers: tls)
            #expect(secure.headers["set-cookie"]?.hasSuffix("; Secure") == true)
            var web = bench.web
            web.headers["Cookie"] = "other=1; " + (cookie.split(separator: ";").first ?? "")
            #expect(try await web.get("/api/jobs?id=j").status == 200)
            // A cookie alone is what another site's form would send along.
            let forged = try await web.post("/api/projects/demo/pause", headers: ["X-Fanfare-Request": ""])
            #expect(forged.status == 403)
            #expect(try await web.post("/logout").status == 200)
            #expect(try await web.get("/api/jobs?id=j").status == 401)
        }
    }

    @Test(arguments: ["//api/", "/%61pi/", "/api//", "/./api/", "/x/../api/"])
    func encodedPathsAreAuthorizedToo(prefix: String) async throws {
        try await withDashboard({ $0.token = Self.token }) { bench in
            for path in ["fleet", "jobs?id=j", "projects/demo/jobs"] {
                let status = try await bench.web.get(prefix + path).status
                #expect(status == 401 || status == 404, "\(prefix)\(path)")
            }
            let status = try await bench.web.post(prefix + "projects/demo/pause").status
            #expect(status == 401 || status == 404, "\(prefix)")
            let overview = try await bench.projectOperator.overview()
            #expect(!overview.isPaused)
        }
        try await withDashboard({ $0.isReadOnly = true }) { bench in
            let status = try await bench.web.post(prefix + "projects/demo/pause").status
            #expect(status == 403 || status == 404, "\(prefix)")
            let overview = try await bench.projectOperator.overview()
            #expect(!overview.isPaused)
        }
    }

    /// More connections than the limit, each with a request that never ends.
    @Test func idleConnectionsDoNotBlockRequests() async throws {
        try await withDashboard { bench in
            let idle = try (0..<400).map { _ in
                let socket = try WebSocketBytes(port: bench.web.port)
                socket.send("GET /ses")
                return socket
            }
            let answer = try await bench.web.get("/session")
            #expect(answer.status == 200)
            let open = idle.filter(\.isOpen)
            #expect(!open.isEmpty, "the request was answered before idle connections timed out")
        }
    }

    @Test func readOnlyDashboardRefusesActions() async throws {
        try await withDashboard({ $0.isReadOnly = true }) { bench in
            try await bench.intake("j", many(3))
            try await bench.reject("r", reason: "token: bad")
            let entry = try #require(try await bench.projectOperator.deadEntries().first?.id)
            let changes = [
                "pause", "resume", "jobs/j/pause", "jobs/j/resume", "jobs/j/cancel", "dead/\(entry)/replay",
                "dead/\(entry)/drop",
            ]
            for path in changes {
                let answer = try await bench.web.post("/api/projects/demo/\(path)")
                #expect(answer.status == 403 && answer.json["error"] as? String == "read_only", "\(path)")
            }
            let overview = try await bench.projectOperator.overview()
            #expect(try await bench.state("j") == "waiting")
            #expect(!overview.isPaused)
            #expect(try await bench.projectOperator.deadEntries().count == 1)
            #expect(try await bench.web.get("/api/projects/demo/jobs/j").status == 200)
        }
    }

    @Test(
        arguments: [
            ("127.0.0.1", nil, [], true), ("::1", nil, [], true), ("localhost", nil, [], true),
            ("0.0.0.0", nil, [], false), ("::", nil, [], false), ("10.0.0.5", nil, [], false),
            ("127.0.0.1.example.org", nil, [], false), ("10.0.0.5", token, [], true),
            ("10.0.0.5", "short", [], false), ("127.0.0.1", "short", [], false), ("127.0.0.1", nil, ["board"], false),
            ("127.0.0.1", token, ["board"], true), ("127.0.0.1", token + "\n\u{0} ", [], false),
        ] as [(String, String?, [String], Bool)]
    )
    func publicAddressNeedsAToken(host: String, token: String?, allowed: [String], isFine: Bool) {
        var options = DashboardOptions()
        options.host = host
        options.token = token
        options.allowedHosts = allowed
        #expect((options.fault == nil) == isFine)
        #expect(options.fault?.contains(token ?? "no token") != true)
    }
}
