import FCMSimulator
import FanfareJSON
import Testing

@Suite struct DeliveryTests {
    @Test func `an Apple device gets APNs headers, the alert, and data at the root`() throws {
        var trial = Trial()
        _ = trial.v1(
            #"{"message":{"token":"sbx-apple-1","notification":{"title":"T","body":"B"},"data":{"k":"v"},"#
                + #""apns":{"headers":{"apns-collapse-id":"c"},"payload":{"aps":{"badge":3}}}}}"#
        )
        let delivery = try #require(try trial.deliveries("sbx-apple-1").first)
        #expect(delivery["platform"] == "apple")
        #expect(delivery["time_ms"]?.number?.int64 == trial.nowMs)
        let headers = try #require(delivery["headers"]?.object)
        #expect(headers["apns-collapse-id"] == "c")
        #expect(headers["apns-priority"] == "10")
        let payload = try #require(delivery["payload"]?.object)
        #expect(payload["k"] == "v")
        #expect(payload["gcm.message_id"]?.string == delivery["message_id"]?.string)
        let aps = try #require(payload["aps"]?.object)
        #expect(aps["alert"] == .object(["title": "T", "body": "B"]))
        #expect(aps["badge"] == 3)
    }

    @Test func `the payload's own alert wins`() throws {
        var trial = Trial()
        _ = trial.v1(
            #"{"message":{"token":"sbx-apple-1","notification":{"title":"T"},"apns":{"payload":{"aps":{"alert":"A"}}}}}"#
        )
        let payload = try #require(try trial.deliveries("sbx-apple-1").first?["payload"]?.object)
        #expect(payload["aps"]?.object?["alert"] == "A")
    }

    @Test func `a legacy message reaches Apple with the same fields`() throws {
        var trial = Trial()
        _ = trial.legacy(
            #"{"to":"sbx-apple-1","notification":{"title":"T","badge":"2","click_action":"OPEN"},"#
                + #""data":{"n":5},"time_to_live":60,"content_available":true}"#
        )
        let delivery = try #require(try trial.deliveries("sbx-apple-1").first)
        #expect(delivery["headers"]?.object?["apns-expiration"]?.string == String(trial.nowMs / 1_000 + 60))
        let payload = try #require(delivery["payload"]?.object)
        #expect(payload["n"] == "5")
        let aps = try #require(payload["aps"]?.object)
        #expect(aps["badge"] == 2)
        #expect(aps["category"] == "OPEN")
        #expect(aps["content-available"] == 1)
    }

    @Test func `Android and web devices get their own blocks`() throws {
        var trial = Trial()
        let blocks =
            #""data":{"k":"common"},"android":{"data":{"k":"own"},"ttl":"60s"},"#
            + #""webpush":{"headers":{"TTL":"5"},"notification":{"title":"W"}}}}"#
        _ = trial.v1(#"{"message":{"token":"t","# + blocks)
        _ = trial.v1(#"{"message":{"token":"sbx-web-1","# + blocks)
        let android = try #require(try trial.deliveries("t").first)
        #expect(android["payload"]?.object?["k"] == "own")
        #expect(android["headers"]?.object?["ttl"] == "60s")
        let web = try #require(try trial.deliveries("sbx-web-1").first)
        #expect(web["platform"] == "web")
        #expect(web["headers"]?.object?["TTL"] == "5")
        #expect(web["payload"]?.object?["notification"]?.object?["title"] == "W")
        #expect(web["payload"]?.object?["data"]?.object?["k"] == "common")
    }

    @Test func `topics and conditions reach their subscribers only`() throws {
        var trial = Trial()
        trial.control("POST", "/devices", #"{"token":"a","topics":["x"]}"#)
        trial.control("POST", "/devices", #"{"token":"b","topics":["x","y"]}"#)
        trial.control("POST", "/devices", #"{"token":"c","topics":["y"],"state":"unregistered"}"#)
        _ = trial.v1(#"{"message":{"topic":"x","data":{"m":"1"}}}"#)
        // Left to right: (x or y) and y.
        _ = trial.v1(#"{"message":{"condition":"'x' in topics || 'y' in topics && 'y' in topics","data":{"m":"2"}}}"#)
        #expect(try trial.deliveries("a").isEmpty)
        trial.nowMs += 1
        #expect(try trial.deliveries("a").count == 1)
        #expect(try trial.deliveries("b").count == 2)
        #expect(try trial.deliveries("c").isEmpty)
        #expect(try trial.deliveries("a").first?["payload"]?.object?["from"] == "/topics/x")
        #expect(try trial.statistic("max_active_fanouts") == 2)
    }

    @Test(arguments: [
        ("'a' in topics", true), ("'b' in topics", false), ("!('b' in topics)", true),
        ("'b' in topics && 'a' in topics || 'a' in topics", true),
        ("'a' in topics || 'a' in topics && 'b' in topics", false),
        ("'a' in topics || ('a' in topics && 'b' in topics)", true),
        ("'a' IN TOPICS", true),
    ])
    func `a condition is evaluated from left to right`(text: String, reaches: Bool) throws {
        var trial = Trial()
        trial.control("POST", "/devices", #"{"token":"t","topics":["a"]}"#)
        #expect(trial.v1(#"{"message":{"condition":"\#(text)"}}"#).status == 200)
        trial.nowMs += 1
        #expect(try trial.deliveries("t").isEmpty == !reaches)
    }

    @Test(arguments: [
        "", "a", "'a' in", "('a' in topics", "'a' in topics &&", "'a' in topics & 'b' in topics", "'' in topics",
        "'a' in topics 'b' in topics", String(repeating: "(", count: 4_000),
        (1...6).map { "'t\($0)' in topics" }.joined(separator: " || "),
    ])
    func `an invalid condition is refused`(text: String) {
        var trial = Trial()
        #expect(trial.v1(#"{"message":{"condition":"\#(text)"}}"#).status == 400)
    }
}
