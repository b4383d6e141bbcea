import FanfareHTTP
import Testing

@Suite struct HostRuleTests {
    @Test(arguments: [
        ("localhost", "localhost"), ("LocalHost:8490", "localhost"), ("10.0.0.7:", "10.0.0.7"), ("[::1]", "::1"),
        ("[FE80::1]:9464", "fe80::1"), ("shop.example:80", "shop.example"),
    ])
    func nameOfAnAuthorityHasNoPortAndNoBrackets(authority: String, name: String) {
        #expect(HostRule.name(ofAuthority: authority) == name)
    }

    @Test(arguments: ["", ":80", "[::1", "::1", "localhost:x", "localhost:80:90", "[]", "a[b]"])
    func textThatIsNoAuthorityHasNoName(authority: String) {
        #expect(HostRule.name(ofAuthority: authority) == nil)
    }

    @Test func requestNamesItsHostExactlyOnce() {
        #expect(HostRule.fault(hosts: ["localhost"], isHTTP10: false) == nil)
        #expect(HostRule.fault(hosts: [], isHTTP10: true) == nil)
        #expect(HostRule.fault(hosts: [], isHTTP10: false)?.contains("no Host") == true)
        #expect(HostRule.fault(hosts: ["a", "a"], isHTTP10: true)?.contains("2 Host headers") == true)
    }

    @Test(arguments: ["a/b", "a b", "a,b", "user@a", "a\u{7F}", "é"])
    func hostWithAByteThatEndsOrSeparatesHostsIsRefused(host: String) {
        #expect(HostRule.fault(hosts: [host], isHTTP10: false) != nil)
    }
}
