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
        #expect(policy.refusal(of: url, allowsPath: false) == nil)
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
        #expect(policy.refusal(of: url, allowsPath: false) != nil)
    }

    @Test func tokenURIMayHaveAPath() {
        #expect(policy.refusal(of: "https://oauth2.googleapis.com/token", allowsPath: true) == nil)
        #expect(policy.refusal(of: "https://accounts.google.com/o/oauth2/token", allowsPath: true) == nil)
        #expect(policy.refusal(of: "https://oauth2.googleapis.com/token?x=1", allowsPath: true) != nil)
        #expect(policy.refusal(of: "https://evil.example/token", allowsPath: true) != nil)
    }

    @Test func refusalNamesTheHost() {
        #expect(
            policy.refusal(of: "https://evil.example:1/", allowsPath: false)
                == "host evil.example is not Google's, this machine's or listed in allowed_hosts"
        )
    }
}
