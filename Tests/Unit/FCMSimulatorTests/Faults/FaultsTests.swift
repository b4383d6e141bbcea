import FanfareJSON
import FanfareModel
import Testing

@testable import FCMSimulator

/// The faults alone: which request each hits, and how often.
@Suite struct FaultsTests {
    private static func faults(_ texts: String...) throws -> Faults {
        var faults = Faults()
        for text in texts {
            let object = try #require(try JSONParser.parse(Array(text.utf8)).object)
            _ = try faults.add(object)
        }
        return faults
    }

    private static func hit(_ faults: inout Faults, _ path: String, token: String = "t") -> Int? {
        var random = SplitMix64(seed: 1)
        return faults.hit(path: path, random: &random) { token.hasPrefix($0) }?.status
    }

    @Test func `the oldest fault that matches is applied until it is used up`() throws {
        var faults = try Self.faults(
            #"{"match":{"path":"/v1"},"action":{"status":503},"times":2}"#,
            #"{"match":{"token_prefix":"t"},"action":{"status":500}}"#
        )
        #expect((0..<3).map { _ in Self.hit(&faults, "/v1/x") } == [503, 503, 500])
        #expect(Self.hit(&faults, "/v1/x", token: "u") == nil)
        #expect(Self.hit(&faults, "/fcm/send") == 500)
        #expect(faults.all.map(\.hits) == [2, 2])
        #expect(faults.all.map(\.timesLeft) == [0, nil])
    }

    @Test func `a removed fault matches nothing, and a new one has another id`() throws {
        var faults = try Self.faults(#"{"action":{"status":503}}"#)
        #expect(faults.remove("f1") == true)
        #expect(faults.remove("f1") == false)
        #expect(Self.hit(&faults, "/") == nil)
        #expect(try faults.add(["action": .object(["status": 500])]) == "f2")
    }

    @Test func `a fault on XMPP matches no HTTP path`() throws {
        var faults = try Self.faults(#"{"match":{"path":"xmpp"},"action":{"nack":"SERVICE_UNAVAILABLE"}}"#)
        #expect(Self.hit(&faults, "/v1/x") == nil)
        var random = SplitMix64(seed: 1)
        let action = faults.hit(path: Faults.xmppPath, random: &random) { _ in true }
        #expect(action?.nack == "SERVICE_UNAVAILABLE")
    }

    @Test func `the reply of a fault has its status, body, header and delay`() {
        let action = FaultAction(status: 503, retryAfter: "7", body: "{}", delayMs: 20)
        let reply = action.reply(to: "/v1/x")
        #expect(reply.status == 503)
        #expect(reply.text == "{}")
        #expect(reply.header("content-type") == "application/json; charset=UTF-8")
        #expect(reply.header("retry-after") == "7")
        #expect(reply.delayMs == 20)
    }

    /// A worker takes an error without FCM's object for a proxy's.
    @Test(arguments: [
        ("/v1/projects/p/messages:send", true), ("/fcm/send", true), ("/iid/v1:batchAdd", true), ("/token", false),
        ("/v1/projects/-/serviceAccounts/e:generateAccessToken", false),
    ])
    func `an error status without a body has FCM's error object on FCM's paths`(path: String, isFCM: Bool) {
        let object = #"{"error":{"code":403,"message":"A fault.","status":"PERMISSION_DENIED"}}"#
        #expect(FaultAction(status: 403).reply(to: path).text == (isFCM ? object : ""))
        #expect(FaultAction(status: 403, body: "").reply(to: path).text == "")
        #expect(FaultAction(status: 200).reply(to: path).text == "")
    }
}
