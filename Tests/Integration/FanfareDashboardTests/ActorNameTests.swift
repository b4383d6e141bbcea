import FanfareHTTP
import Testing

@testable import FanfareDashboard

/// Who acts, for the audit list.
@Suite struct ActorNameTests {
    private func name(_ headers: [String: String], peer: String = "127.0.0.1", proxy: Bool = true) -> String {
        var options = DashboardOptions()
        options.allowedHosts = proxy ? ["board.example"] : []
        options.userHeader = proxy ? "X-Forwarded-User" : nil
        return ActorName.of(WebRequest(method: "POST", path: "/", headers: headers, peer: peer), options)
    }

    @Test func proxyNamesTheUserAndTheAddress() {
        #expect(name([:]) == "127.0.0.1")
        #expect(name(["x-forwarded-for": "203.0.113.9"]) == "203.0.113.9")
        #expect(name(["x-forwarded-for": "203.0.113.9", "x-forwarded-user": "ana"]) == "ana@203.0.113.9")
        #expect(name(["x-forwarded-user": "ana.b@example.org"], peer: "::1") == "ana.b@example.org@::1")
    }

    /// Clients can send these headers, too: only the last address was added by the proxy.
    @Test func forgedHeadersAreIgnored() {
        #expect(name(["x-forwarded-for": "10.0.0.1, 203.0.113.9"]) == "203.0.113.9")
        #expect(name(["x-forwarded-for": "10.0.0.1"], proxy: false) == "127.0.0.1")
        #expect(name(["x-forwarded-user": "ana"], proxy: false) == "127.0.0.1")
        #expect(name(["x-forwarded-for": "10.0.0.1", "x-forwarded-user": "ana"], peer: "203.0.113.9") == "203.0.113.9")
        for value in ["a b", "<b>", "", "ana\u{0}", String(repeating: "a", count: 65), "ána"] {
            #expect(name(["x-forwarded-user": value]) == "127.0.0.1", "\(value)")
        }
    }

    @Test func userHeaderNeedsAProxy() {
        var options = DashboardOptions()
        options.token = "a-token-of-some-length"
        options.userHeader = "X-Forwarded-User"
        #expect(options.fault != nil)
        options.allowedHosts = ["board.example"]
        #expect(options.fault == nil)
    }
}
