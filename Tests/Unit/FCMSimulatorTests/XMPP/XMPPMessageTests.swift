import FCMSimulator
import FanfareJSON
import FanfareXML
import Testing

@Suite struct XMPPMessageTests {
    static func body(_ to: String, id: String = "m-1", more: String = "") -> String {
        #"{"to":"\#(to)","message_id":"\#(id)","data":{"k":"v"}\#(more)}"#
    }

    @Test func `a message is delivered and acknowledged`() throws {
        var trial = XMPPTrial()
        let id = try trial.login()
        let acks = try trial.send(Self.body("a:b"), on: id)
        #expect(acks == [["from": "a:b", "message_id": "m-1", "message_type": "ack"]])
        #expect(try trial.trial.deliveries("a:b").count == 1)
        let canonical = try trial.send(Self.body("sbx-canonical-7"), on: id)
        #expect(canonical.first?["registration_id"] == "canon-7")
        let trial2 = try trial.send(Self.body("a:b", more: #","dry_run":true"#), on: id)
        #expect(trial2.first?["message_type"] == "ack")
        #expect(try trial.trial.deliveries("a:b").count == 1)
        #expect(try trial.trial.statistic("sends") == 3)
    }

    @Test(arguments: [
        ("sbx-unregistered-1", "DEVICE_UNREGISTERED"), ("sbx-invalid-1", "BAD_REGISTRATION"),
        ("not a token", "BAD_REGISTRATION"), ("sbx-mismatch-1", "SENDER_ID_MISMATCH"),
        ("sbx-auth-1", "INVALID_APNS_CREDENTIAL"), ("sbx-unavailable-1-x", "SERVICE_UNAVAILABLE"),
        ("sbx-internal-1-x", "INTERNAL_SERVER_ERROR"), ("sbx-quota-1-x", "DEVICE_MESSAGE_RATE_EXCEEDED"),
        ("sbx-devicerate-1-x", "DEVICE_MESSAGE_RATE_EXCEEDED"),
        ("/topics/sbx-topicrate-1-x", "TOPICS_MESSAGE_RATE_EXCEEDED"), ("gone", "DEVICE_UNREGISTERED"),
    ])
    func `every refusal by a device has its nack code`(to: String, code: String) throws {
        var trial = XMPPTrial()
        trial.control("POST", "/devices", #"{"token":"gone","state":"unregistered"}"#)
        let id = try trial.login()
        let nacks = try trial.send(Self.body(to), on: id)
        #expect(nacks.count == 1)
        let nack = try #require(nacks.first)
        #expect(nack["message_type"] == "nack")
        #expect(nack["message_id"] == "m-1")
        #expect(nack["from"] == .string(to))
        #expect(nack["error"] == .string(code))
        #expect(nack["error_description"]?.string?.isEmpty == false)
        if to.contains("-1-x") {
            #expect(try trial.send(Self.body(to), on: id).first?["message_type"] == "ack")
        }
        #expect(trial.closed.isEmpty)
    }

    @Test(arguments: [
        #"{"message_id":"m-1","data":{}}"#, #"{"to":"","message_id":"m-1"}"#,
        #"{"to":"a","message_id":"m-1","data":{"from":"x"}}"#,
        #"{"to":"a","message_id":"m-1","data":{"google.x":"x"}}"#,
        #"{"to":"a","message_id":"m-1","time_to_live":2419201}"#,
        #"{"to":"a","message_id":"m-1","time_to_live":"abc"}"#,
        #"{"to":"a","message_id":"m-1","data":{"k":"\#(String(repeating: "x", count: 4_097))"}}"#,
        #"{"to":"/topics/t","message_id":"m-1","data":{"k":"\#(String(repeating: "x", count: 2_049))"}}"#,
        #"{"registration_ids":["a"],"message_id":"m-1"}"#,
        #"{"to":"a","message_id":"m-1","restricted_package_name":"p"}"#,
        #"{"to":"a","message_id":"m-1","delivery_receipt_requested":"yes"}"#,
        #"{"to":"a","message_id":"m-1","stray":1}"#, #"{"to":"a","message_id":"m-1","priority":"urgent"}"#,
        #"{"to":"a","condition":"'a' in topics","message_id":"m-1"}"#,
        #"{"condition":"'a' in topics || 'b' in topics || 'c' in topics || 'd' in topics","message_id":"m-1"}"#,
        #"{"condition":"'a' in","message_id":"m-1"}"#, #"{"to":"a","message_id":""}"#,
    ])
    func `an invalid message is answered with INVALID_JSON`(json: String) throws {
        var trial = XMPPTrial()
        let id = try trial.login()
        let nack = try #require(try trial.send(json, on: id).first)
        #expect(nack["error"] == "INVALID_JSON")
        #expect(nack["message_type"] == "nack")
        #expect(try trial.trial.deliveries("a").isEmpty)
        #expect(trial.closed.isEmpty)
    }

    @Test func `JSON without a message id is answered with a stanza error`() throws {
        var trial = XMPPTrial()
        let id = try trial.login()
        for json in ["", "{", "[]", "{}", #"{"to":"a"}"#, #"{"message_id":1}"#] {
            trial.message(json, stanza: "s1", on: id)
            let text = trial.text(on: id)
            #expect(text.contains("<message id=\"s1\" type=\"error\">"), "\(json)")
            #expect(text.contains("<error code=\"400\" type=\"modify\"><bad-request "), "\(json)")
            #expect(text.contains(">InvalidJson: JSON_"), "\(json): \(text)")
        }
        #expect(trial.closed.isEmpty)
    }

    @Test func `a fault hides the id of an answer, or writes a stanza before it`() throws {
        var trial = XMPPTrial()
        let id = try trial.login()
        let key = try trial.trial.makeGroup(["a", "sbx-unavailable-9-x"])
        let fault = #"{"match":{"path":"xmpp"},"action":{"without_id":true,"stanza":"<presence/>"},"times":2}"#
        trial.control("POST", "/faults", fault)
        trial.message(Self.body(key), on: id)
        let text = trial.text(on: id)
        #expect(text.hasPrefix("<presence/><message"))
        #expect(text.contains("failed_registration_ids") && !text.contains("message_id"))
        trial.message(Self.body("sbx-unregistered-1"), on: id)
        #expect(trial.text(on: id).contains("DEVICE_UNREGISTERED"))
        #expect(try trial.send(Self.body("a"), on: id).first?["message_id"] == "m-1")
        #expect(trial.closed.isEmpty)
    }

    @Test func `sends to topics, conditions and groups are acknowledged`() throws {
        var trial = XMPPTrial()
        let id = try trial.login()
        trial.control("POST", "/devices", #"{"token":"a","topics":["news"]}"#)
        let topic = try trial.send(Self.body("/topics/news"), on: id)
        #expect(topic == [["from": "/topics/news", "message_id": "m-1", "message_type": "ack"]])
        let condition = #"{"condition":"'news' in topics && 'x' in topics","message_id":"m-2"}"#
        #expect(try trial.send(condition, on: id).first?["message_type"] == "ack")
        trial.pass(10)
        #expect(try trial.trial.deliveries("a").count == 1)
        let key = try trial.trial.makeGroup(["a", "b", "sbx-unavailable-9-x"])
        let partial = try #require(try trial.send(Self.body(key), on: id).first)
        #expect(partial["message_type"] == "ack")
        #expect(partial["from"] == .string(key))
        #expect(partial["success"] == 2)
        #expect(partial["failure"] == 1)
        #expect(partial["failed_registration_ids"] == JSONValue.array(["sbx-unavailable-9-x"]))
        _ = trial.trial.group(GroupTests.body("remove", key: key, ["a", "b"]))
        #expect(try trial.send(Self.body(key), on: id).first?["error"] == "SERVICE_UNAVAILABLE")
        trial.control("POST", "/devices", #"{"token":"sbx-unavailable-9-x","state":"unregistered"}"#)
        // Its own behaviour comes first, until that is used up.
        for _ in 0..<7 { _ = try trial.send(Self.body(key), on: id) }
        // Nobody got it: a nack, whatever the reasons.
        #expect(try trial.send(Self.body(key), on: id).first?["error"] == "DEVICE_UNREGISTERED")
        trial.control("POST", "/devices", #"{"group":"empty","members":[]}"#)
        let empty = try #require(try trial.send(Self.body("empty"), on: id).first)
        #expect(empty["message_type"] == "ack")
        #expect(empty["success"] == 0)
        #expect(empty["failure"] == 0)
        let described = #"{"group":"frank","members":["sbx-unregistered-a","sbx-unregistered-b"],"names_all":true}"#
        trial.control("POST", "/devices", described)
        let frank = try #require(try trial.send(Self.body("frank"), on: id).first)
        #expect(frank["message_type"] == "nack" && frank["error"] == "SERVICE_UNAVAILABLE")
        #expect(frank["failed_registration_ids"] == .array(["sbx-unregistered-a", "sbx-unregistered-b"]))
        _ = trial.trial.group(GroupTests.body("remove", key: key, ["sbx-unavailable-9-x"]))
        #expect(try trial.send(Self.body(key), on: id).first?["error"] == "DEVICE_UNREGISTERED")
    }

    @Test func `XMPP sends count against the project's quota`() throws {
        var trial = XMPPTrial(quotaPerMinute: 2)
        let id = try trial.login()
        for _ in 0..<2 { #expect(try trial.send(Self.body("a"), on: id).first?["message_type"] == "ack") }
        #expect(try trial.send(Self.body("a"), on: id).first?["error"] == "SERVICE_UNAVAILABLE")
        trial.pass(60_000)
        #expect(try trial.send(Self.body("a"), on: id).first?["message_type"] == "ack")
    }

    @Test func `a hundred unanswered messages stop the server from reading`() throws {
        var trial = XMPPTrial()
        let id = try trial.login()
        for index in 0..<100 { trial.message(Self.body("sbx-slow-1000-\(index)", id: "m\(index)"), on: id) }
        #expect(trial.paused == [id])
        // What was read already waits its turn.
        for index in 100..<150 { trial.message(Self.body("t\(index)", id: "m\(index)"), on: id) }
        #expect(try trial.messages(on: id).isEmpty)
        #expect(try trial.trial.statistic("sends") == 100)
        #expect(trial.trial.simulator.xmppDueMs(nowMs: trial.trial.nowMs) == trial.trial.nowMs + 1_000)
        trial.pass(1_000)
        let ids = try trial.messages(on: id).compactMap { $0["message_id"]?.string }
        #expect(ids == (0..<150).map { "m\($0)" })
        #expect(trial.paused.isEmpty)
        #expect(trial.trial.simulator.xmppDueMs(nowMs: trial.trial.nowMs) == nil)
    }

    @Test func `a message id without an answer is refused when used again`() throws {
        var trial = XMPPTrial()
        let id = try trial.login()
        #expect(try trial.send(Self.body("sbx-slow-50-a"), on: id).isEmpty)
        #expect(try trial.send(Self.body("b"), on: id).first?["error"] == "INVALID_JSON")
        trial.pass(50)
        #expect(try trial.messages(on: id).first?["message_type"] == "ack")
        #expect(try trial.send(Self.body("b"), on: id).first?["message_type"] == "ack")
    }

    @Test func `a lost answer ends the connection`() throws {
        var trial = XMPPTrial()
        let id = try trial.login()
        #expect(try trial.send(Self.body("sbx-lost-1-x"), on: id).isEmpty)
        #expect(trial.closed == [id])
        #expect(try trial.trial.deliveries("sbx-lost-1-x").count == 1)
        let next = try trial.login()
        #expect(try trial.send(Self.body("sbx-lost-1-x"), on: next).first?["message_type"] == "ack")
        #expect(try trial.trial.statistic("duplicates") == 1)
    }

    @Test func `faults on XMPP apply to messages`() throws {
        var trial = XMPPTrial()
        let id = try trial.login()
        func fault(_ action: String, prefix: String = "") -> String {
            #"{"match":{"path":"xmpp","token_prefix":"\#(prefix)"},"action":\#(action),"times":1}"#
        }
        trial.control("POST", "/faults", fault(#"{"nack":"INTERNAL_SERVER_ERROR"}"#, prefix: "b"))
        #expect(try trial.send(Self.body("a"), on: id).first?["message_type"] == "ack")
        #expect(try trial.send(Self.body("b"), on: id).first?["error"] == "INTERNAL_SERVER_ERROR")
        #expect(try trial.trial.deliveries("b").isEmpty)
        trial.control("POST", "/faults", fault(#"{"delay_ms":500}"#))
        #expect(try trial.send(Self.body("a"), on: id).isEmpty)
        trial.pass(500)
        #expect(try trial.messages(on: id).first?["message_type"] == "ack")
        trial.control("POST", "/faults", fault(#"{"draining":true}"#))
        let drained = try trial.send(Self.body("c"), on: id)
        #expect(drained.first?["control_type"] == "CONNECTION_DRAINING")
        #expect(drained.last?["error"] == "CONNECTION_DRAINING")
        let next = try trial.login()
        trial.control("POST", "/faults", fault(#"{"close":true}"#))
        #expect(try trial.send(Self.body("d"), on: next).isEmpty)
        #expect(trial.closed == [next])
        #expect(try trial.trial.deliveries("d").isEmpty)
        for (path, action) in [
            ("xmpp", #"{"status":503}"#), ("/", #"{"nack":"X"}"#), ("/", #"{"draining":true}"#),
            ("xmpp", #"{"nack":"no code"}"#), ("xmpp", #"{"nack":1}"#), ("elsewhere", #"{"close":true}"#),
        ] {
            let body = #"{"match":{"path":"\#(path)"},"action":\#(action)}"#
            #expect(trial.control("POST", "/faults", body).status == 400, "\(body)")
        }
    }
}
