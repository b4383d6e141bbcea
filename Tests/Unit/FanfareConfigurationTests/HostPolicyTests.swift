import Testing

@testable import FanfareConfiguration

@Suite struct HostPolicyTests {
    private let policy = HostPolicy(allowed: ["FCM.Example.org"])

    @Test(arguments: [
        "https://fcm.googleapis.com", "https://fcm.googleapis.com/", "https://fcm.googleapis.com:443",
        "HTTPS://FCM.googleapis.com", "https://localhost:8443", "https://127.0.0.1:1", "https://127.9.8.7",
        "https://[::1]:8443", "https://fcm.example.org", "https://oauth2.googleapis.com",
    ])
    func allowedOriginsAreAccepted(url: String) {
        #expect(policy.fault(of: url, allowsPath: false) == nil)
    }

    @Test(arguments: [
        "", "https://", "http://fcm.googleapis.com", "ftp://localhost", "https://evil.example",
        "https://fcm.googleapis.com.evil.example", "https://evilgoogleapis.com", "https://127.0.0.1.evil.example",
        "https://localhost.evil.example", "https://user@localhost", "https://fcm.googleapis.com@evil.example",
        "https://evil.example\\@localhost", "https://localhost:0", "https://localhost:65536", "https://localhost:",
        "https://localhost:+1", "https://[::1", "https://[::1]x", "https://[]", "https://[::2]", "https://0.0.0.0",
        "https://127.1", "https://2130706433", "https://127.0.0.999", "https://local host", "https://localhost/path",
        "https://localhost?x", "https://localhost#x", "https://localhost\r\nHost: x", "https://löcalhost",
        "https://169.254.169.254",
    ])
    func otherOriginsAreRefused(url: String) {
        #expect(policy.fault(of: url, allowsPath: false) != nil)
    }

    @Test func tokenURIMayHaveAPath() {
        #expect(policy.fault(of: "https://oauth2.googleapis.com/token", allowsPath: true) == nil)
        #expect(policy.fault(of: "https://accounts.google.com/o/oauth2/token", allowsPath: true) == nil)
        #expect(policy.fault(of: "https://oauth2.googleapis.com/token?x=1", allowsPath: true) != nil)
        #expect(policy.fault(of: "https://evil.example/token", allowsPath: true) != nil)
    }

    @Test(arguments: [
        "http://127.0.0.1:4318", "http://[::1]:4318/", "http://localhost", "https://otlp.example.com/otlp",
    ])
    func collectorMayBeHereOrAnywhereOverTLS(url: String) {
        #expect(HostPolicy(allowed: []).fault(ofCollector: url) == nil)
    }

    @Test(arguments: [
        "http://collector:4318", "http://127.0.0.1.example.com", "http://user@localhost", "https://", "ftp://localhost",
        "http://localhost/?key=1", "https://a b", "localhost:4318", "http://localhost:0",
        "http://metadata.google.internal", "http://169.254.169.254", "http://fcm.googleapis.com",
    ])
    func otherCollectorIsRefused(url: String) {
        #expect(HostPolicy(allowed: []).fault(ofCollector: url) != nil)
    }

    @Test func collectorOnAnAllowedHostMayUsePlainHTTP() {
        #expect(HostPolicy(allowed: ["Collector"]).fault(ofCollector: "http://collector:4318") == nil)
        let yaml = "telemetry: { otlp: \"http://collector:4318\" }\n"
        #expect(throws: ConfigurationError.self) { try Configuration.load(yaml: yaml) }
        #expect(throws: Never.self) { try Configuration.load(yaml: yaml + "allowed_hosts: [collector]\n") }
    }

    @Test(arguments: [
        "http://metadata.google.internal/computeMetadata/v1/x?scopes=a", "http://169.254.169.254/metadata?a=b",
        "http://localhost:1/t", "http://127.0.0.1:8480/t", "http://[::1]:1/t", "http://fcm.example.org/t",
        "https://fcm.example.org/t?a=b", "https://sts.googleapis.com/t", "https://localhost/t", "HTTP://localhost/t",
    ])
    func tokenSourceMayBePlainHTTPToTheseHosts(url: String) { #expect(policy.fault(ofTokenSource: url) == nil) }

    @Test(arguments: [
        "http://sts.googleapis.com/t", "http://evil.example/t", "http://metadata.google.internal.evil.example/t",
        "http://u@169.254.169.254/t", "http://169.254.169.254@evil.example/t", "http://evil.example\\@localhost/t",
        "http://localhost/t#x", "http://evil.example?@localhost", "https://169.254.169.254/t", "https://evil.example/t",
        "http://localhost:0/t", "http://169.254.169.253/t", "ftp://localhost/t", "http://", "http://lo cal/",
        "https://localhost/t?a=b c", "https://localhost/t?a=b\r\nX: y", "https://localhost/t?a\u{7F}",
        "https://localhost/t?a=\\b", "https://localhost/t?a#b", "http://localhost/t?a=b c",
    ])
    func otherTokenSourcesAreRefused(url: String) { #expect(policy.fault(ofTokenSource: url) != nil) }

    @Test func refusalNamesTheHost() {
        #expect(
            policy.fault(of: "https://evil.example:1/", allowsPath: false)
                == "host evil.example is not Google's, this machine's or listed in allowed_hosts"
        )
    }
}
