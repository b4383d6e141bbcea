import Foundation
import Testing

@testable import FanfareDashboard

/// The addresses of the page, below any prefix of a proxy.
@Suite struct PageAddressTests {
    @Test(arguments: [
        ("/", "./"), ("/token", "./"), ("/audit", "./"), ("/jobs?tab=over", "./"),
        ("/redis", "./"), ("/runbook", "./"), ("/runbook/FanfareNoWorkers", "../"), ("/p/shop", "../"),
        ("/p/shop/", "../../"),
        ("/p/shop/dead", "../../"), ("/p/shop/audit", "../../"), ("/p/shop/jobs/a%2Fb", "../../../"),
        ("/p/shop/dead?kind=parked", "../../"),
    ])
    func viewAddressAnswersThePageWithItsRoot(path: String, base: String) async throws {
        try await withDashboard { bench in
            let page = try await bench.web.get(path)
            #expect(page.status == 200 && page.headers["content-type"] == "text/html; charset=utf-8")
            #expect(page.body.contains(#"<base href="\#(base)">"#))
            // No URL of the page begins at the root of the server, where another application may be.
            #expect(page.body.firstMatch(of: /(?:src|href|action)="(?:\/|#|[a-z]+:)/) == nil)
        }
    }

    @Test func scriptsUseRelativeAddressesOnly() async throws {
        try await withDashboard { bench in
            for file in PageAssets.scriptPaths {
                let script = try await bench.web.get(file).body
                let absolute = script.firstMatch(
                    of: /["'`]\/(?:api|p|jobs|redis|runbook|token|audit|session|log)[\/"'`?]/
                )
                #expect(absolute == nil, "\(file): \(absolute?.0 ?? "")")
            }
        }
    }

    @Test(arguments: ["/nowhere", "/app.jsx", "/pp/shop", "/tokens"])
    func unknownAddressIsNotFound(path: String) async throws {
        try await withDashboard { bench in
            let status = try await bench.web.get(path).status
            #expect(status == 404)
        }
    }

    @Test(arguments: ["/", "/p/shop", "/app.js", "/session", "/healthz", "/api/audit", "/api/nowhere"])
    func headAnswersTheHeadersOfGetWithoutABody(path: String) async throws {
        try await withDashboard { bench in
            let (head, get) = (try await bench.web.ask("HEAD", path), try await bench.web.get(path))
            #expect(head.status == get.status && head.body.isEmpty)
            #expect(head.headers["content-length"] == get.headers["content-length"])
            #expect(head.headers["content-security-policy"] == get.headers["content-security-policy"])
        }
    }

    @Test func headOfEventsTakesNoSlot() async throws {
        try await withDashboard { bench in
            for _ in 0..<70 {
                let status = try await bench.web.ask("HEAD", "/api/events").status
                #expect(status == 200)
            }
        }
    }

    @Test(arguments: ["/api/events", "/api/projects/demo/jobs/j/results.csv"])
    func headOfAStreamHasNoBody(path: String) async throws {
        try await withDashboard { bench in
            try await bench.intake("j", many(1))
            let head = try await bench.web.ask("HEAD", path)
            #expect(head.status == 200 && head.body.isEmpty)
            #expect(head.headers["transfer-encoding"] == nil)
        }
    }

    @Test func healthNeedsNeitherTokenNorName() async throws {
        try await withDashboard({ $0.token = "a-token-of-some-length" }) { bench in
            var web = bench.web
            web.host = "probe.example"
            let health = try await web.get("/healthz")
            #expect(health.status == 200 && health.body == "ok\n")
            #expect(try await bench.web.ask("HEAD", "/api/fleet").status == 401)
        }
    }

    /// Without a path a browser limits the cookie to the folder of the login, which is the prefix of the proxy.
    @Test func sessionCookieHasNoPath() async throws {
        try await withDashboard({ $0.token = "a-token-of-some-length" }) { bench in
            let login = try await bench.web.post("/login", #"{"token":"a-token-of-some-length"}"#)
            let cookie = try #require(login.headers["set-cookie"])
            #expect(!cookie.lowercased().contains("path=") && cookie.contains("HttpOnly"))
            let logout = try await bench.web.post("/logout")
            #expect(logout.headers["set-cookie"]?.lowercased().contains("path=") == false)
        }
    }

    @Test func compactScriptKeepsItsCode() {
        let script = "// About.\n/** One. */\n/**\n * More.\n */\nlet a = 1; // kept\n\n  b(\"https://x\");\n"
        #expect(
            String(decoding: PageAssets.compact(Array(script.utf8)), as: UTF8.self)
                == "let a = 1; // kept\nb(\"https://x\");\n"
        )
    }

    @Test(arguments: ["overview", "project", "job", "jobs", "dead", "token", "audit", "redis", "runbook"])
    func addressLoadsLessThan100Kilobytes(view: String) async throws {
        try await withDashboard { bench in
            var paths = ["/", "/icon.svg", "/app.css", "/detail.css"]
            var scripts = ["/app.js", "/\(view).js"]
            while let script = scripts.popLast() {
                if paths.contains(script) { continue }
                paths.append(script)
                let body = try await bench.web.get(script).body
                scripts += body.matches(of: /from "\.(\/[a-z]+\.js)"/).map { String($0.1) }
            }
            var total = 0
            for path in paths { total += try await bench.web.get(path).body.utf8.count }
            #expect(paths.count >= 8 && total < 100_000, "\(total) bytes")
        }
    }
}
