import FCMSimulator
import FanfareJSON
import Testing

@Suite struct FanoutTests {
    private static func audience(_ trial: inout Trial, _ sizes: [String: Int]) {
        for (topic, size) in sizes.sorted(by: { $0.key < $1.key }) {
            let reply = trial.control("POST", "/devices", #"{"topic":"\#(topic)","subscribers":\#(size)}"#)
            #expect(reply.status == 200)
        }
    }

    @Test func `one fan-out uses the whole rate, two at once share it`() throws {
        var trial = Trial()
        Self.audience(&trial, ["a": 500_000, "b": 500_000])
        trial.send(topic: "a")
        trial.nowMs += 50_000
        trial.send(topic: "a")
        trial.send(topic: "b")
        trial.nowMs += 99_999
        #expect(try trial.fanoutTimes() == [50_000, nil, nil])
        trial.nowMs += 1
        #expect(try trial.fanoutTimes() == [50_000, 100_000, 100_000])
    }

    @Test func `a fan-out's share changes when another starts or ends`() throws {
        var trial = Trial(fanoutRate: 1_000)
        Self.audience(&trial, ["small": 1_000, "large": 3_000])
        trial.send(topic: "large")
        // A thousand are done alone; then both have half until the small one's thousand are, 2 s later.
        trial.nowMs += 1_000
        trial.send(topic: "small")
        trial.nowMs += 60_000
        #expect(try trial.fanoutTimes() == [4_000, 2_000])
        #expect(try trial.statistic("max_active_fanouts") == 2)
    }

    @Test func `ten fan-outs in a row end sooner on average than ten at once`() throws {
        var together = Trial()
        Self.audience(&together, ["t": 10_000])
        for _ in 0..<10 { together.send(topic: "t") }
        together.nowMs += 20_000
        #expect(try together.fanoutTimes() == Array(repeating: 10_000, count: 10))

        var inTurn = Trial()
        let started = inTurn.nowMs
        Self.audience(&inTurn, ["t": 10_000])
        for _ in 0..<10 {
            inTurn.send(topic: "t")
            inTurn.nowMs += 1_000
        }
        let ends = try inTurn.fanouts().compactMap { $0["finished_ms"]?.number?.int64 }.map { $0 - started }
        #expect(ends == (1...10).map { $0 * 1_000 })
        #expect(try inTurn.statistic("max_active_fanouts") == 1)
    }

    @Test func `each project has its own fan-out capacity`() throws {
        var trial = Trial()
        let token = "ya29.other"
        _ = trial.exchange(
            TokenText.body(nowMs: trial.nowMs, issuer: Trial.other.serviceAccountEmail),
            newToken: token
        )
        Self.audience(&trial, ["t": 10_000])
        trial.send(topic: "t")
        trial.authorization = "Bearer " + token
        #expect(trial.send(topic: "t", project: "other").status == 200)
        trial.nowMs += 1_000
        #expect(try trial.fanoutTimes() == [1_000, 1_000])
        #expect(try trial.fanouts("?project=other").map { $0["project"] } == ["other"])
    }

    @Test func `a fan-out beyond the thousandth is refused until another ends`() throws {
        var trial = Trial()
        Self.audience(&trial, ["short": 10, "long": 1_000_000])
        trial.send(topic: "short")
        for _ in 0..<999 { #expect(trial.send(topic: "long").status == 200) }
        let refused = trial.send(topic: "long")
        #expect(refused.status == 429)
        #expect(refused.header("retry-after") == "1")
        #expect(try refused.error()["message"] == "Topic quota exceeded.")
        #expect(try refused.fcmError() == "QUOTA_EXCEEDED")
        let legacy = trial.legacy(#"{"to":"/topics/long"}"#)
        #expect(try legacy.json() == ["error": "TopicsMessageRateExceeded"])
        #expect(try trial.statistic("max_active_fanouts") == 1_000)
        // Ten recipients at 10 a second.
        trial.nowMs += 999
        #expect(trial.send(topic: "long").status == 429)
        trial.nowMs += 1
        #expect(trial.send(topic: "long").status == 200)
        #expect(trial.send(topic: "long").status == 429)
    }

    @Test func `deferred fan-outs are accepted and start in their order`() throws {
        var trial = Trial(fanoutRate: 1_000_000, defersFanouts: true)
        Self.audience(&trial, ["t": 1_000])
        for _ in 0..<1_003 { #expect(trial.send(topic: "t").status == 200) }
        #expect(try trial.statistic("max_active_fanouts") == 1_000)
        var waiting = try trial.fanouts().suffix(4)
        #expect(waiting.map { $0["started_ms"] == .null } == [false, true, true, true])
        // The thousand end together after a second; the three that waited then share the rate.
        trial.nowMs += 1_003
        waiting = try trial.fanouts().suffix(4)
        #expect(try trial.fanoutTimes().suffix(4) == [1_000, 1_003, 1_003, 1_003])
        #expect(waiting.last?["started_ms"]?.number?.int64 == trial.nowMs - 3)
    }

    @Test func `a listing names the target, the message and the recipients`() throws {
        var trial = Trial()
        Self.audience(&trial, ["a": 100, "b": 10])
        trial.control("POST", "/devices", #"{"token":"x","topics":["a","b"]}"#)
        let accepted = trial.nowMs
        let name = try trial.send(topic: "a").json()["name"]?.string
        _ = trial.v1(#"{"message":{"condition":"'a' in topics || 'b' in topics"}}"#)
        _ = trial.v1(#"{"message":{"condition":"'a' in topics && 'b' in topics"}}"#)
        _ = trial.v1(#"{"message":{"condition":"!('a' in topics)"}}"#)
        let list = try trial.fanouts()
        #expect(list.map { $0["recipients"] } == [101, 111, 1, 10])
        let first = try #require(list.first)
        #expect(first["topic"] == "a")
        #expect(first["project"] == "demo")
        #expect(first["accepted_ms"]?.number?.int64 == accepted)
        #expect(first["started_ms"]?.number?.int64 == accepted)
        #expect(first["finished_ms"] == .null)
        let id = try #require(first["message_id"]?.string)
        #expect(name == "projects/demo/messages/" + id)
        #expect(list[1]["condition"] == "'a' in topics || 'b' in topics")
    }

    @Test func `a subscriber has the message when the fan-out ends`() throws {
        var trial = Trial()
        Self.audience(&trial, ["t": 9_999])
        trial.control("POST", "/devices", #"{"token":"x","topics":["t"]}"#)
        trial.send(topic: "t")
        trial.nowMs += 999
        #expect(try trial.deliveries("x").isEmpty)
        trial.nowMs += 500
        let delivery = try #require(try trial.deliveries("x").first)
        #expect(delivery["time_ms"]?.number?.int64 == trial.nowMs - 499)
        #expect(delivery["payload"]?.object?["from"] == "/topics/t")
    }

    @Test func `a fan-out without recipients ends at once, and a validation starts none`() throws {
        var trial = Trial()
        trial.send(topic: "nobody")
        _ = trial.v1(#"{"validate_only":true,"message":{"topic":"nobody"}}"#)
        #expect(try trial.fanoutTimes() == [0])
    }

    @Test func `a send to a group is a fan-out to its members`() throws {
        var trial = Trial(fanoutRate: 10)
        let group = #"{"group":"APA91bKey","members":["a","b","sbx-unregistered-1"]}"#
        #expect(trial.control("POST", "/devices", group).status == 200)
        let legacy = try trial.legacy(#"{"to":"APA91bKey"}"#).json()
        #expect(legacy["success"] == 2)
        #expect(legacy["failed_registration_ids"] == .array(["sbx-unregistered-1"]))
        #expect(try trial.send("APA91bKey").json() == [:])
        #expect(try trial.deliveries("a").count == 2)
        #expect(try trial.fanouts().map { $0["group"] } == ["APA91bKey", "APA91bKey"])
        #expect(try trial.statistic("max_active_fanouts") == 2)
        trial.nowMs += 600
        #expect(try trial.fanoutTimes() == [600, 600])
    }

    @Test func `only the latest ten thousand ended fan-outs are listed`() throws {
        var trial = Trial()
        for index in 0..<20_002 { trial.send(topic: "t\(index)") }
        let list = try trial.fanouts()
        #expect(list.count == 10_000)
        #expect(list.last?["topic"] == "t20001")
    }

    @Test(arguments: [
        #"{"topic":"a b","subscribers":1}"#, #"{"topic":"a","subscribers":-1}"#, #"{"topic":"a"}"#,
        #"{"topic":"a","subscribers":1000000001}"#, #"{"topic":"a","subscribers":1,"token":"t"}"#, "{}",
        #"{"group":"k"}"#, #"{"group":"k","members":["a b"]}"#, #"{"group":"k","members":["a"],"x":1}"#,
        #"{"group":"k","members":["# + (1...21).map { "\"m\($0)\"" }.joined(separator: ",") + "]}",
    ])
    func `an invalid description of an audience is refused`(body: String) {
        var trial = Trial()
        #expect(trial.control("POST", "/devices", body).status == 400)
    }

    @Test func `a reset forgets audiences and active fan-outs`() throws {
        var trial = Trial()
        Self.audience(&trial, ["t": 1_000_000])
        trial.send(topic: "t")
        trial.control("POST", "/reset")
        #expect(try trial.fanouts().isEmpty)
        trial.send(topic: "t")
        #expect(try trial.fanouts().map { $0["recipients"] } == [0])
    }
}
