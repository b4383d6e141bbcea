import FCMSimulator
import FanfareJSON
import Testing

extension Trial {
    /// One request to `/fcm/notification`, by default with the server key.
    mutating func group(
        _ body: String,
        method: String = "POST",
        query: String = "",
        authorization: String? = "key=" + Trial.project.serverKey,
        accessTokenAuth: Bool = false,
        sender: String? = Trial.project.senderID
    ) -> SimulatorReply {
        let request = SimulatorRequest(
            method: method,
            path: "/fcm/notification",
            query: query,
            authorization: authorization,
            contentType: "application/json",
            accessTokenAuth: accessTokenAuth,
            projectIDHeader: sender,
            body: Array(body.utf8)
        )
        return simulator.respond(to: ReadRequest(request), nowMs: nowMs)
    }

    mutating func makeGroup(_ members: [String], name: String = "n") throws -> String {
        try group(GroupTests.body("create", name: name, members)).key()
    }
}

extension SimulatorReply {
    func key() throws -> String { try #require(try json()["notification_key"]?.string, "\(text)") }
}

@Suite struct GroupTests {
    static func body(_ operation: String, name: String? = "n", key: String? = nil, _ tokens: [String]) -> String {
        var object: JSONObject = ["operation": .string(operation)]
        if let name { object["notification_key_name"] = .string(name) }
        if let key { object["notification_key"] = .string(key) }
        object["registration_ids"] = .array(tokens.map { .string($0) })
        return JSONValue.object(object).jsonText
    }

    @Test func `every operation answers with a key that differs and is valid`() throws {
        var trial = Trial()
        var keys = [try trial.makeGroup(["a", "b"])]
        keys.append(try trial.group(Self.body("add", key: keys[0], ["c"])).key())
        keys.append(try trial.group(Self.body("remove", key: keys[1], ["a"])).key())
        keys.append(try trial.group("", method: "GET", query: "notification_key_name=n").key())
        // A body is unusual there, but the page shows one.
        keys.append(try trial.group(#"{"x":1}"#, method: "GET", query: "notification_key_name=n").key())
        #expect(Set(keys).count == 5)
        for key in keys {
            #expect(key.hasPrefix("APA91b") && !key.contains(":"))
            let reply = try trial.legacy(#"{"to":"\#(key)","data":{"k":"v"}}"#).json()
            #expect(reply == ["success": 2, "failure": 0])
        }
        #expect(try trial.deliveries("a").isEmpty)
        #expect(try trial.deliveries("b").count == 5)
        #expect(try trial.deliveries("c").count == 5)
    }

    @Test func `managing a group needs a server key or token, and the sender id`() throws {
        var trial = Trial()
        let get = "notification_key_name=n"
        _ = try trial.makeGroup(["a"])
        let bearer = trial.authorization
        #expect(
            trial.group("", method: "GET", query: get, authorization: bearer, accessTokenAuth: true).status == 200
        )
        #expect(trial.group("", method: "GET", query: get, authorization: bearer).status == 401)
        #expect(trial.group("", method: "GET", query: get, authorization: nil).status == 401)
        #expect(trial.group("", method: "GET", query: get, authorization: "key=stranger").status == 401)
        #expect(trial.group("", method: "GET", query: get, sender: nil).status == 400)
        #expect(trial.group("", method: "GET", query: get, sender: Trial.other.senderID).status == 401)
        let foreign = trial.group(
            "",
            method: "GET",
            query: get,
            authorization: "key=" + Trial.other.serverKey,
            sender: Trial.other.senderID
        )
        #expect(try foreign.json() == ["error": "notification_key not found"])
        #expect(trial.group("", method: "DELETE").status == 405)
    }

    @Test func `every refusal of a group request has its sentence`() throws {
        var trial = Trial()
        let key = try trial.makeGroup(["a"])
        let other = try trial.makeGroup(["x"], name: "other")
        let many = (0..<21).map { "t\($0)" }
        let table: [(body: String, sentence: String)] = [
            (Self.body("create", ["b"]), "notification_key already exists"),
            (Self.body("add", key: "APA91bUnknown", ["b"]), "notification_key not found"),
            (Self.body("remove", key: String(key.dropLast()) + "!", ["a"]), "notification_key not found"),
            (
                Self.body("add", key: other, ["b"]),
                "notification_key_name doesn't match the group name of the notification_key"
            ),
            (Self.body("create", name: "m", ["not a token", "sbx-invalid-1"]), "no valid registration ids"),
            (Self.body("add", key: key, ["sbx-unregistered-1"]), "no valid registration ids"),
            (Self.body("create", name: "m", []), "no valid registration ids"),
            (Self.body("create", name: "m", many), "too many registration ids: at most 20"),
            (Self.body("add", key: key, Array(many.dropLast())), "too many registration ids: at most 20"),
            (Self.body("create", name: nil, ["b"]), "missing notification_key_name"),
            // The reference requires the name for all three; Google's newer guide lets it be left out of two.
            (Self.body("add", name: nil, key: key, ["b"]), "missing notification_key_name"),
            (Self.body("remove", name: nil, key: key, ["a"]), "missing notification_key_name"),
            (Self.body("add", key: nil, ["b"]), "missing notification_key"),
            (Self.body("rename", key: key, ["b"]), "invalid operation"),
            ("{", "JSON_PARSING_ERROR: position 1"), ("[]", "JSON_PARSING_ERROR"),
        ]
        for (body, sentence) in table {
            let reply = trial.group(body)
            #expect(reply.status == 400, "\(body)")
            #expect(try reply.json() == ["error": .string(sentence)], "\(body)")
        }
        #expect(try trial.group("", method: "GET").json() == ["error": "missing notification_key_name"])
        #expect(trial.group(Self.body("add", key: key, ["b"])).status == 200)
        #expect(try trial.legacy(#"{"to":"\#(key)"}"#).json() == ["success": 2, "failure": 0])
    }

    @Test func `tokens that cannot join a group are dropped without an error`() throws {
        var trial = Trial()
        trial.control("POST", "/devices", #"{"token":"gone","state":"unregistered"}"#)
        let key = try trial.makeGroup(["sbx-invalid-1", "a", "gone", "a", "sbx-unregistered-2", "b"])
        #expect(try trial.legacy(#"{"to":"\#(key)"}"#).json() == ["success": 2, "failure": 0])
    }

    @Test func `a group has twenty members, and adding a member again counts nothing`() throws {
        var trial = Trial()
        let tokens = (0..<20).map { "t\($0)" }
        let key = try trial.makeGroup(tokens)
        #expect(trial.group(Self.body("add", key: key, ["t7"])).status == 200)
        #expect(trial.group(Self.body("add", key: key, ["t20"])).status == 400)
        #expect(try trial.legacy(#"{"to":"\#(key)"}"#).json() == ["success": 20, "failure": 0])
    }

    @Test func `a group whose last member is removed is gone, and its name is free`() throws {
        var trial = Trial()
        let key = try trial.makeGroup(["a", "b"])
        #expect(trial.group(Self.body("remove", key: key, ["a", "stranger"])).status == 200)
        #expect(trial.group(Self.body("remove", key: key, ["b"])).status == 200)
        let missing: JSONObject = ["error": "notification_key not found"]
        #expect(try trial.group("", method: "GET", query: "notification_key_name=n").json() == missing)
        #expect(try trial.group(Self.body("add", key: key, ["c"])).json() == missing)
        #expect(try trial.legacy(#"{"to":"\#(key)"}"#).results() == ["NotRegistered"])
        #expect(try trial.send(key).fcmError() == "UNREGISTERED")
        let next = try trial.makeGroup(["c"])
        #expect(try trial.legacy(#"{"to":"\#(next)"}"#).json() == ["success": 1, "failure": 0])
        #expect(try trial.legacy(#"{"to":"\#(key)"}"#).results() == ["NotRegistered"])
        trial.control("POST", "/reset")
        #expect(try trial.makeGroup(["d"]) != next)
        #expect(try trial.legacy(#"{"to":"\#(next)"}"#).results() == ["NotRegistered"])
    }

    @Test func `a group send names the members that failed, and gets 503 if all did`() throws {
        var trial = Trial()
        let key = try trial.makeGroup(["a", "b", "sbx-unavailable-2-x"])
        trial.control("POST", "/devices", #"{"token":"b","state":"unregistered"}"#)
        let partial = try trial.legacy(#"{"to":"\#(key)"}"#).json()
        #expect(partial["success"] == 1)
        #expect(partial["failure"] == 2)
        #expect(partial["failed_registration_ids"] == JSONValue.array(["b", "sbx-unavailable-2-x"]))
        trial.control("POST", "/devices", #"{"token":"a","state":"unregistered"}"#)
        #expect(trial.legacy(#"{"to":"\#(key)"}"#).status == 503)
        #expect(try trial.legacy(#"{"to":"\#(key)"}"#).json()["success"] == 1)
        trial.control("POST", "/devices", #"{"token":"sbx-unavailable-2-x","state":"unregistered"}"#)
        #expect(trial.legacy(#"{"to":"\#(key)"}"#).status == 503)
        // v1 tells none of this.
        let reply = trial.send(key)
        #expect(reply.status == 200)
        #expect(try reply.json() == [:])
    }

    @Test func `a send to a group without members counts 0 and 0`() throws {
        var trial = Trial()
        trial.control("POST", "/devices", #"{"group":"APA91bEmpty","members":[]}"#)
        #expect(try trial.legacy(#"{"to":"APA91bEmpty"}"#).json() == ["success": 0, "failure": 0])
        #expect(try trial.send("APA91bEmpty").json() == [:])
    }

    @Test func `a group described with names_all names all members if none was reached`() throws {
        var trial = Trial()
        let members = ["sbx-unregistered-a", "sbx-unavailable-1-b"]
        let list = #"["sbx-unregistered-a","sbx-unavailable-1-b"]"#
        trial.control("POST", "/devices", #"{"group":"APA91bSilent","members":\#(list)}"#)
        #expect(trial.legacy(#"{"to":"APA91bSilent"}"#).status == 503)
        trial.control("POST", "/reset")
        trial.control("POST", "/devices", #"{"group":"APA91bFrank","members":\#(list),"names_all":true}"#)
        let none = try trial.legacy(#"{"to":"APA91bFrank"}"#).json()
        #expect(none["success"] == 0)
        #expect(none["failure"] == 2)
        #expect(none["failed_registration_ids"] == .array(members.map { .string($0) }))
        let some = try trial.legacy(#"{"to":"APA91bFrank"}"#).json()
        #expect(some["success"] == 1)
        #expect(some["failed_registration_ids"] == .array(["sbx-unregistered-a"]))
        let bad = #"{"group":"k","members":["a"],"names_all":1}"#
        #expect(trial.control("POST", "/devices", bad).status == 400)
    }

    @Test func `a group's key is refused in place of a token`() throws {
        var trial = Trial()
        let key = try trial.makeGroup(["a"])
        #expect(try trial.legacy(#"{"registration_ids":["\#(key)","b"]}"#).results() == ["InvalidRegistration", "ok"])
        let form = "application/x-www-form-urlencoded;charset=UTF-8"
        let plain = trial.legacy("registration_id=\(key)&data.a=b", contentType: form)
        #expect(plain.text == "Error=InvalidRegistration\n")
        let foreign = trial.legacy(#"{"to":"\#(key)"}"#, key: Trial.other.serverKey)
        #expect(try foreign.results() == ["InvalidRegistration"])
        #expect(try trial.deliveries("a").isEmpty)
    }

    @Test func `a fault hits group management too`() throws {
        var trial = Trial()
        let match = #"{"path":"/fcm/notification","token_prefix":"b"}"#
        trial.control("POST", "/faults", #"{"match":\#(match),"action":{"status":503},"times":1}"#)
        #expect(trial.group(Self.body("create", ["a"])).status == 200)
        #expect(trial.group(Self.body("create", name: "m", ["a", "b"])).status == 503)
        #expect(trial.group(Self.body("create", name: "m", ["a", "b"])).status == 200)
    }
}
