import FCMSimulator
import FanfareJSON
import Testing

@Suite struct UpstreamTests {
    static let sample = #"{"from":"a:b","category":"com.example.shop","data":{"k":"v"},"ttl":60,"message_id":"u-1"}"#

    static func ack(_ messageID: String, to: String) -> String {
        #"{"to":"\#(to)","message_id":"\#(messageID)","message_type":"ack"}"#
    }

    @Test func `a device's message is repeated until it is acknowledged`() throws {
        var trial = XMPPTrial()
        #expect(try trial.control("POST", "/upstream", Self.sample).json() == ["message_id": "u-1"])
        #expect(try trial.statistic("upstream_waiting") == 1)
        let first = try trial.login()
        trial.pass(0)
        let expected: JSONObject = [
            "from": "a:b", "category": "com.example.shop", "message_id": "u-1", "data": .object(["k": "v"]),
        ]
        #expect(try trial.messages(on: first) == [expected])
        trial.leave(first)
        let second = try trial.login()
        trial.pass(0)
        #expect(try trial.messages(on: second) == [expected])
        // An ack says nothing in return.
        #expect(try trial.send(Self.ack("u-1", to: "a:b"), on: second).isEmpty)
        #expect(try trial.statistic("upstream_acked") == 1)
        // Nor does a second one, or one for a message that another connection carried.
        #expect(try trial.send(Self.ack("u-1", to: "a:b"), on: second).isEmpty)
        trial.leave(second)
        let third = try trial.login()
        trial.pass(0)
        #expect(try trial.messages(on: third).isEmpty)
        #expect(try trial.statistic("upstream_sent") == 2)
    }

    @Test func `a device's data may be a string`() throws {
        var trial = XMPPTrial()
        let id = try trial.login()
        #expect(trial.control("POST", "/upstream", #"{"from":"a","message_id":"u","data":"level 7"}"#).status == 200)
        #expect(try trial.messages(on: id).first?["data"] == "level 7")
        let long = String(repeating: "x", count: 4_097)
        for data in ["7", "[]", "null", #""\#(long)""#] {
            #expect(trial.control("POST", "/upstream", #"{"from":"a","data":\#(data)}"#).status == 400, "\(data)")
        }
        // A message to a group is delivered as one to devices, whose data is an object.
        let key = try trial.trial.makeGroup(["a", "b"])
        #expect(trial.control("POST", "/upstream", #"{"from":"a","to":"\#(key)","data":"x"}"#).status == 400)
    }

    @Test func `a device's receipts may have their data in a string`() throws {
        var trial = XMPPTrial()
        let id = try trial.login()
        #expect(trial.control("POST", "/devices", #"{"token":"a","receipts":"string"}"#).status == 200)
        #expect(trial.control("POST", "/devices", #"{"token":"a","receipts":"text"}"#).status == 400)
        let report = try trial.control("GET", "/devices?token=a").json()
        #expect(report["receipts"] == "string")
        let body = XMPPMessageTests.body("a", more: #","delivery_receipt_requested":true"#)
        let receipt = try #require(try trial.send(body, on: id).first { $0["message_type"] == "receipt" })
        let text = try #require(receipt["data"]?.string)
        let data = try #require(try JSONParser.parse(Array(text.utf8)).object)
        #expect(data["original_message_id"] == "m-1")
        #expect(data["device_registration_id"] == "a")
    }

    @Test func `an upstream message without a connection expires`() throws {
        var trial = XMPPTrial()
        trial.control("POST", "/upstream", Self.sample)
        trial.control("POST", "/upstream", #"{"from":"now","ttl":0}"#)
        #expect(try trial.statistic("upstream_waiting") == 1)
        trial.control("POST", "/clock", #"{"advance_ms":60000}"#)
        let id = try trial.login()
        #expect(try trial.messages(on: id).isEmpty)
        #expect(try trial.statistic("upstream_expired") == 2)
        trial.control("POST", "/upstream", #"{"from":"now","ttl":0}"#)
        #expect(try trial.messages(on: id).count == 1)
        trial.leave(id)
        let next = try trial.login()
        #expect(try trial.messages(on: next).isEmpty)
    }

    @Test(arguments: [
        #"{"to":"other","message_id":"u-1","message_type":"ack"}"#, #"{"message_id":"u-1","message_type":"ack"}"#,
        #"{"to":"a:b","message_id":"u-1","message_type":"nack"}"#,
        #"{"to":"a:b","message_id":"u-1","message_type":"ack","more":1}"#,
        #"{"to":7,"message_id":"u-1","message_type":"ack"}"#,
    ])
    func `a malformed ack gets BAD_ACK, and a correct one counts afterwards`(json: String) throws {
        var trial = XMPPTrial()
        let id = try trial.login()
        trial.control("POST", "/upstream", Self.sample)
        _ = try trial.messages(on: id)
        let nack = try #require(try trial.send(json, on: id).first)
        #expect(nack["error"] == "BAD_ACK")
        #expect(nack["message_type"] == "nack")
        #expect(nack["message_id"] == "u-1")
        #expect(try trial.statistic("upstream_unacked") == 1)
        #expect(try trial.statistic("bad_acks") == 1)
        #expect(try trial.send(Self.ack("u-1", to: "a:b"), on: id).isEmpty)
        #expect(try trial.statistic("upstream_unacked") == 0)
    }

    @Test func `upstream messages beyond a hundred unacknowledged ones wait`() throws {
        var trial = XMPPTrial()
        let id = try trial.login()
        for index in 0..<120 { trial.control("POST", "/upstream", #"{"from":"a","message_id":"u\#(index)"}"#) }
        #expect(try trial.messages(on: id).count == 100)
        for index in 0..<5 { _ = try trial.send(Self.ack("u\(index)", to: "a"), on: id) }
        trial.pass(0)
        #expect(try trial.statistic("upstream_waiting") == 15)
        let other = try trial.login()
        trial.pass(0)
        #expect(try trial.messages(on: other).count == 15)
    }

    @Test func `a device's upstream message beyond a thousand a minute is refused`() throws {
        var trial = XMPPTrial()
        for index in 0..<1_000 {
            #expect(trial.control("POST", "/upstream", #"{"from":"a","message_id":"\#(index)"}"#).status == 200)
        }
        #expect(trial.control("POST", "/upstream", #"{"from":"a"}"#).status == 429)
        #expect(trial.control("POST", "/upstream", #"{"from":"b"}"#).status == 200)
        trial.pass(60_000)
        #expect(trial.control("POST", "/upstream", #"{"from":"a"}"#).status == 200)
    }

    @Test func `upstream messages go to connections of their own project only`() throws {
        var trial = XMPPTrial()
        let own = try trial.login()
        let other = try trial.login(Trial.other)
        trial.control("POST", "/upstream", #"{"from":"a","project":"other"}"#)
        #expect(try trial.messages(on: own).isEmpty)
        #expect(try trial.messages(on: other).count == 1)
        for body in [
            "{}", #"{"from":"a b"}"#, #"{"from":"a","project":"none"}"#, #"{"from":"a","ttl":-1}"#,
            #"{"from":"a","ttl":"x"}"#, #"{"from":"a","data":{"k":1}}"#, #"{"from":"a","stray":1}"#,
            #"{"from":"sbx-unregistered-1"}"#, #"{"from":"a","to":"nobody"}"#,
        ] { #expect(trial.control("POST", "/upstream", body).status == 400, "\(body)") }
    }

    @Test func `a device's message to its group does not reach the app server`() throws {
        var trial = XMPPTrial()
        let id = try trial.login()
        let key = try trial.trial.makeGroup(["a", "b", "c"])
        let reply = trial.control("POST", "/upstream", #"{"from":"a","to":"\#(key)","data":{"k":"v"}}"#)
        #expect(reply.status == 200)
        #expect(try trial.messages(on: id).isEmpty)
        #expect(try trial.trial.deliveries("a").isEmpty)
        for token in ["b", "c"] { #expect(try trial.trial.deliveries(token).count == 1) }
        #expect(trial.control("POST", "/upstream", #"{"from":"z","to":"\#(key)"}"#).status == 400)
    }

    @Test func `a receipt follows the delivery, on any connection of the project`() throws {
        var trial = XMPPTrial()
        let first = try trial.login()
        trial.control("POST", "/devices", #"{"token":"far","package":"com.example.shop","online":false}"#)
        let wish = #","delivery_receipt_requested":true"#
        #expect(try trial.send(XMPPMessageTests.body("far", more: wish), on: first).count == 1)
        trial.leave(first)
        let second = try trial.login()
        trial.pass(5_000)
        #expect(try trial.messages(on: second).isEmpty)
        trial.control("POST", "/devices", #"{"token":"far","online":true}"#)
        let receipt = try #require(try trial.messages(on: second).first)
        #expect(receipt["message_type"] == "receipt")
        #expect(receipt["from"] == "gcm.googleapis.com")
        #expect(receipt["message_id"] == "dr2:m-1")
        #expect(receipt["category"] == "com.example.shop")
        let data = try #require(receipt["data"]?.object)
        #expect(data["message_status"] == "MESSAGE_SENT_TO_DEVICE")
        #expect(data["original_message_id"] == "m-1")
        #expect(data["device_registration_id"] == "far")
        #expect(data["message_sent_timestamp"] == .string(String(trial.trial.nowMs)))
        #expect(try trial.send(Self.ack("dr2:m-1", to: "gcm.googleapis.com"), on: second).isEmpty)
        #expect(try trial.statistic("upstream_acked") == 1)
    }

    @Test func `a receipt's ack may name the device, and Apple has none`() throws {
        var trial = XMPPTrial()
        let id = try trial.login()
        let wish = #","delivery_receipt_requested":true"#
        let types = try trial.send(XMPPMessageTests.body("a", more: wish), on: id).map { $0["message_type"] }
        #expect(types == ["ack", "receipt"])
        #expect(try trial.send(Self.ack("dr2:m-1", to: "a"), on: id).isEmpty)
        #expect(try trial.statistic("upstream_acked") == 1)
        for (token, more) in [("sbx-apple-1", wish), ("b", ""), ("b", wish + #","dry_run":true"#)] {
            #expect(try trial.send(XMPPMessageTests.body(token, more: more), on: id).count == 1)
            trial.pass(0)
        }
        #expect(try trial.statistic("receipts") == 1)
    }

    @Test func `a draining connection refuses messages and still accepts acks`() throws {
        var trial = XMPPTrial()
        let old = try trial.login()
        trial.control("POST", "/upstream", #"{"from":"a","message_id":"u-1"}"#)
        trial.message(XMPPMessageTests.body("sbx-slow-100-x", id: "slow"), on: old)
        _ = try trial.messages(on: old)
        #expect(try trial.control("POST", "/drain").json() == ["draining": 1])
        let control: JSONObject = ["message_type": "control", "control_type": "CONNECTION_DRAINING"]
        #expect(try trial.messages(on: old) == [control])
        #expect(try trial.send(XMPPMessageTests.body("b"), on: old).first?["error"] == "CONNECTION_DRAINING")
        #expect(try trial.trial.deliveries("b").isEmpty)
        let new = try trial.login()
        #expect(try trial.send(XMPPMessageTests.body("b"), on: new).first?["message_type"] == "ack")
        trial.control("POST", "/upstream", #"{"from":"a","message_id":"u-2"}"#)
        #expect(try trial.messages(on: new).first?["message_id"] == "u-2")
        _ = try trial.send(Self.ack("u-1", to: "a"), on: old)
        #expect(try trial.statistic("upstream_acked") == 1)
        trial.pass(100)
        #expect(try trial.messages(on: old).first?["message_id"] == "slow")
        trial.pass(9_899)
        #expect(trial.closed.isEmpty)
        trial.pass(1)
        #expect(trial.closed == [old])
        #expect(try trial.control("POST", "/drain", #"{"project":"other"}"#).json() == ["draining": 0])
        #expect(trial.control("POST", "/drain", #"{"project":"none"}"#).status == 400)
    }
}
