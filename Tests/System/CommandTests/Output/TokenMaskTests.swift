import FanfareJSON
import Logging
import Testing

@testable import fanfare

@Suite struct TokenMaskTests {
    private static let registration =
        "dQw4w9WgXcQ:APA91bHun4MxP5egoKMwt2KZFBaFUH-1RYqx_8Rg4cLpO0kGvZ4mZkq4bnXyLrA9gV0Ty1s3gkF7nq9wZ2c"
    private static let access = "ya29.c.b0AXv0zTPExampleOnly"
    private static let assertion = "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJhQGIiLCJzY29wZSI6IngifQ.c2lnbmF0dXJl"
    private static let serverKey = "AAAAexample:" + String(repeating: "kX9_", count: 35)
    private static let gatewayKey = "ffk_" + String(repeating: "kX9_", count: 10) + "kX9"
    private static let oldKey = "AIzaSyA-0123456789abcdefghijklmnopqrstu"

    @Test(arguments: [registration, access, assertion, serverKey, oldKey, gatewayKey])
    func tokensAreMaskedAnywhereInAText(_ secret: String) {
        for text in [secret, "\"\(secret)\"", "Bearer \(secret), and more", "token=(\(secret))", "[\(secret)]"] {
            let masked = TokenMask.masked(text)
            #expect(!masked.contains(secret.dropFirst(12)), "\(masked)")
            #expect(masked.contains("\(secret.prefix(6))…[\(secret.count) characters]"))
        }
    }

    @Test func textWithAPrivateKeyIsMaskedWhole() {
        let key = "-----BEGIN PRIVATE KEY-----\nMIIEvQ\n-----END PRIVATE KEY-----"
        #expect(TokenMask.masked("the file holds \(key)") == "[masked]")
    }

    @Test(arguments: [
        ("redis://user:pass@host:6379/0", "redis://user:…@host:6379/0"),
        ("redis://:p@ss@host", "redis://:…@host"),
        ("to rediss://u:p@a and redis://u:p@b", "to rediss://u:…@a and redis://u:…@b"),
        ("https://localhost:8443/v1", "https://localhost:8443/v1"),
        ("unix:///run/redis.sock", "unix:///run/redis.sock"),
    ])
    func passwordsInURLsAreMasked(_ text: String, _ masked: String) {
        #expect(TokenMask.masked(text) == masked)
    }

    @Test(arguments: [
        "", "demo", "1763741234567-0", "message.data: 5012 bytes, at most 4096", "worker-1-2k3j4.8f3a.1",
        "connection_lost: no answer from unix:///tmp/ff-x/redis.sock in time", "0a1b2c3d-4e5f-6a7b-8c9d-0e1f2a3b4c5d",
        String(repeating: "j", count: 128),
    ])
    func ordinaryTextIsNotMasked(_ text: String) { #expect(TokenMask.masked(text) == text) }

    /// In both formats of a record.
    @Test(arguments: [true, false])
    func logRecordsAreMasked(isJSON: Bool) {
        let values = LogOutput.values(["error": "FCM said \(Self.registration)", "job": "news"])
        let line = LogOutput.render("t", .error, "A constant sentence.", values, isJSON: isJSON)
        #expect(!line.contains("APA91b") && line.contains("dQw4w9…[\(Self.registration.count) characters]"))
        #expect(line.contains("news") && line.contains("A constant sentence."))
    }
}
