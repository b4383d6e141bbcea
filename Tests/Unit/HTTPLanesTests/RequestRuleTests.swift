import FanfareModel
import Testing

@testable import HTTPLanes

@Suite struct RequestRuleTests {
    @Test(arguments: [
        ("https://fcm.googleapis.com/v1/projects/p/messages:send", "https://fcm.googleapis.com"),
        ("https://LOCALHOST:8443/x?y=%20", "https://localhost:8443"), ("https://[::1]:9/", "https://[::1]:9"),
        ("https://h", "https://h"),
    ])
    func validURLHasAnOrigin(row: (url: String, origin: String)) {
        #expect(RequestRule.origin(of: row.url) == row.origin)
    }

    @Test(arguments: [
        "", "http://h/", "https://", "https:///x", "https://user@h/", "https://h/a b", "https://h/\r\nX: y",
        "https://h/\u{7f}", "https://h/ü", "https://h\\@g/", "https://h/#a", "file:///etc/passwd",
    ])
    func invalidURLIsRefused(url: String) {
        #expect(RequestRule.origin(of: url) == nil)
    }

    @Test func plainHTTPNeedsAPoolThatAllowsIt() {
        var strict = RequestRule()
        var plain = RequestRule(allowsPlainHTTP: true)
        let request = HTTPRequest(tag: 1, method: .get, url: "http://LocalHost:1/x")
        #expect(strict.fault(of: request) != nil && plain.fault(of: request) == nil)
        #expect(RequestRule.origin(of: request.url, allowsPlainHTTP: true) == "http://localhost:1")
        for url in ["http://user@h/", "http://", "ftp://h/", "http://h/#a"] {
            #expect(RequestRule.origin(of: url, allowsPlainHTTP: true) == nil, "\(url)")
        }
        // The other scheme is another origin.
        #expect(plain.fault(of: HTTPRequest(tag: 2, method: .get, url: "https://localhost:1/x")) != nil)
    }

    @Test(arguments: ["A: b", "content-type: application/json; charset=utf-8", "X_y-1:z", "A: b\u{e9}"])
    func validHeaderIsAllowed(header: String) {
        #expect(RequestRule.isAllowed(header: header))
    }

    @Test(arguments: [
        "", "A", ": b", "A:", "A:  ", "A b: c", "A: b\r\nC: d", "A: b\nC", "A: \u{0}", "A\u{7f}: b", "Ä: b",
    ])
    func invalidHeaderIsRefused(header: String) {
        #expect(!RequestRule.isAllowed(header: header))
    }

    @Test func plainHTTPIsRefusedUnlessThePoolAllowsIt() {
        var rule = RequestRule()
        #expect(rule.fault(of: HTTPRequest(tag: 1, url: "http://h/a")) != nil)
        rule = RequestRule(allowsPlainHTTP: true)
        #expect(rule.fault(of: HTTPRequest(tag: 1, url: "http://h/a")) == nil)
        #expect(rule.fault(of: HTTPRequest(tag: 1, url: "https://h/a")) != nil, "another origin")
        #expect(RequestRule.origin(of: "http://user@h/", allowsPlainHTTP: true) == nil)
    }

    @Test func firstValidRequestFixesTheOrigin() {
        var rule = RequestRule()
        #expect(rule.fault(of: HTTPRequest(tag: 1, url: "ftp://h/")) != nil)
        #expect(rule.fault(of: HTTPRequest(tag: 1, url: "https://h/a")) == nil)
        #expect(rule.fault(of: HTTPRequest(tag: 1, url: "https://H/b", headers: ["A: b"])) == nil)
        #expect(rule.fault(of: HTTPRequest(tag: 1, url: "https://h:8443/a")) != nil)
        #expect(rule.fault(of: HTTPRequest(tag: 1, url: "https://h/a", headers: ["A: b\n"])) != nil)
        #expect(rule.fault(of: HTTPRequest(tag: 1, method: .get, url: "https://h/a", body: [1])) != nil)
    }
}
