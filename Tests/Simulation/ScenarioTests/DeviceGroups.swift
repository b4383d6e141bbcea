import FCMSimulator
import FCMWire
import FanfareCore
import FanfareJSON
import FanfareModel
import Testing

/// The scenario of the document "Device groups on Apple platforms". The page "Statements" numbers what it says.
@Suite struct DeviceGroups {
    static let name = "appUser-Chris"
    static let first = "bk3RNwTe3H0:CI2k_HHwgIpoDKCIZvvDMExUdFQ3P1..."
    static let second = "cR1rjyj4_Kc:APA91bGusqbypSuMdsh7jSNrW4nzsM..."
    static let hello = #"{"data":{"hello":"This is a Firebase Cloud Messaging Device Group Message!"}}"#

    // MARK: Management

    @Test("G1 G5 G6 G7 G10 G11: creating a group with a name and tokens answers with its key")
    func create() throws {
        let request = GroupOperation.request(.groupCreate, name: Self.name, key: "", tokens: [Self.first, Self.second])
        #expect(request.method == .post)
        #expect(request.path == "/fcm/notification")
        let body = try JSONParser.parse(request.body)
        let expected = try JSONParser.parse(
            Array(
                #"""
                {"operation":"create","notification_key_name":"appUser-Chris",
                 "registration_ids":["\#(Self.first)","\#(Self.second)"]}
                """#.utf8
            )
        )
        #expect(body == expected)

        var scene = try Scene()
        let verdict = try scene.group(.groupCreate, name: Self.name, [Self.first, Self.second])
        let key = try #require(try scene.reply.json()["notification_key"]?.string)
        #expect(verdict == .managed(group: key))
        #expect(try scene.send(Self.hello, to: ("group", key), over: .legacy).isSent)
        for token in [Self.first, Self.second] {
            #expect(try scene.arrival(token).payload["hello"] != nil)
        }
    }

    @Test("G2 G6: management needs the server's key and the project's sender id")
    func authorization() throws {
        var scene = try Scene()
        let request = GroupOperation.request(.groupCreate, name: Self.name, key: "", tokens: [Self.first])
        func status(_ authorization: String, _ project: String?) -> Int {
            scene.perform(request, authorization: authorization, projectID: project).status
        }
        let key = "key=" + Scene.project.serverKey
        for (authorization, project) in [
            (key, nil), (key, Scene.other.senderID), ("key=AIzaSyClient", Scene.project.senderID),
        ] {
            #expect(status(authorization, project) != 200)
        }
        #expect(status(key, Scene.project.senderID) == 200)
        // A refused key fails the operation, and says what to mend.
        let reply = scene.perform(request, authorization: "key=AIzaSyClient")
        let verdict = GroupOperation.verdict(
            reply.outcome,
            op: .groupCreate,
            key: "",
            nowMs: scene.nowMs,
            canRefresh: false
        )
        guard case .failed(let failure) = verdict, failure.action == .fixCredentials else {
            Issue.record("\(verdict)")
            return
        }
    }

    @Test("G4: a group has twenty members; a further one is refused")
    func twentyMembers() throws {
        var scene = try Scene()
        let tokens = (1...21).map { "t\($0)" }
        #expect(throws: Scene.Rejected.self) { try scene.group(.groupCreate, name: "n", tokens) }
        let key = try scene.makeGroup("n", Array(tokens.prefix(20)))
        #expect(try scene.group(.groupAdd, name: "n", key: key, ["t21"]).failure == "INVALID_ARGUMENT fix_message")
        _ = try scene.send(Self.hello, to: ("group", key), over: .legacy)
        #expect(try scene.reply.json() == ["success": 20, "failure": 0])
        // One has to leave before the next can come.
        for (operation, token) in [(Operation.groupRemove, "t1"), (.groupAdd, "t21")] {
            guard case .managed = try scene.group(operation, name: "n", key: key, [token]) else {
                Issue.record("\(scene.reply.text)")
                return
            }
        }
        _ = try scene.send(Self.hello, to: ("group", key), over: .legacy)
        #expect(try scene.reply.json() == ["success": 20, "failure": 0])
        #expect(try tokens.map { try scene.arrivals($0).count } == [1] + Array(repeating: 2, count: 19) + [1])
    }

    @Test("G8 G9: a name that is taken is refused, so each app of a sender needs its own")
    func names() throws {
        var scene = try Scene()
        let app = try scene.makeGroup("app1-Chris", ["a"])
        #expect(try scene.group(.groupCreate, name: "app1-Chris", ["b"]).failure == "INVALID_ARGUMENT fix_message")
        #expect(try scene.reply.json()["error"] == "notification_key already exists")
        let other = try scene.makeGroup("app2-Chris", ["b"])
        #expect(app != other)
        #expect(try scene.group(.groupAdd, name: "app1-Chris", key: other, ["c"]).failure.isEmpty == false)
        _ = try scene.send(Self.hello, to: ("group", app), over: .legacy)
        #expect(try scene.arrivals("a").count == 1)
        #expect(try scene.arrivals("b").isEmpty)
    }

    @Test("G12 G13: asking for a key by name answers with another valid key each time")
    func get() throws {
        var scene = try Scene()
        let created = try scene.makeGroup(Self.name, [Self.first])
        let request = GroupOperation.request(.groupGet, name: Self.name, key: "", tokens: [])
        #expect(request.method == .get)
        #expect(request.path == "/fcm/notification?notification_key_name=appUser-Chris")
        #expect(request.body.isEmpty)
        var keys: Set = [created]
        for _ in 1...3 {
            guard case .managed(let key) = try scene.group(.groupGet, name: Self.name) else {
                Issue.record("\(scene.reply.text)")
                return
            }
            keys.insert(key)
        }
        #expect(keys.count == 4)
        for key in keys { #expect(try scene.send(Self.hello, to: ("group", key), over: .legacy).isSent) }
        #expect(try scene.arrivals(Self.first).count == 4)
        #expect(try scene.group(.groupGet, name: "nobody").failure == "INVALID_ARGUMENT fix_message")
        // The document's GET has a body of its own.
        var withBody = request
        withBody.body = Array("{}".utf8)
        #expect(scene.perform(withBody, authorization: "key=" + Scene.project.serverKey).status == 200)
    }

    @Test("G14 G15 G16: adding and removing members by key and name answers with a key")
    func addAndRemove() throws {
        var scene = try Scene()
        let key = try scene.makeGroup(Self.name, [Self.second])
        let request = GroupOperation.request(.groupAdd, name: Self.name, key: key, tokens: [Self.first])
        let body = try #require(try JSONParser.parse(request.body).object)
        #expect(body["operation"] == "add")
        #expect(body["notification_key"] == .string(key))
        guard case .managed(let grown) = try scene.group(.groupAdd, name: Self.name, key: key, [Self.first]) else {
            Issue.record("\(scene.reply.text)")
            return
        }
        _ = try scene.send(Self.hello, to: ("group", grown), over: .legacy)
        #expect(try scene.arrivals(Self.first).count == 1)
        guard case .managed(let shrunk) = try scene.group(.groupRemove, name: Self.name, key: grown, [Self.second])
        else {
            Issue.record("\(scene.reply.text)")
            return
        }
        _ = try scene.send(Self.hello, to: ("group", shrunk), over: .legacy)
        #expect(try scene.arrivals(Self.first).count == 2)
        #expect(try scene.arrivals(Self.second).count == 1)
    }

    @Test("G7 G18: intake refuses both examples as printed, and names the byte at fault")
    func printedExamples() throws {
        let create = #"""
            {
               "operation": "create",
               "notification_key_name": "appUser-Chris",
               "registration_ids": ["bk3RNwTe3H0:CI2k_HHwgIpoDKCIZvvDMExUdFQ3P1...",
                                    "cR1rjyj4_Kc:APA91bGusqbypSuMdsh7jSNrW4nzsM...",
                                    ... ]

            """#
        try PrintedExample.check(create, at: "... ]")
        let closed = create.replacing("...\",\n                        ... ]", with: "...\"]")
        #expect(closed != create)
        try PrintedExample.check(closed, at: nil)
        let send = #"""
            {
              "to": "aUniqueKey",
              "data": {
                "hello": "This is a Firebase Cloud Messaging Device Group Message!",
               }
            }
            """#
        try PrintedExample.check(send, at: "}\n}")
        // FCM says so as well.
        var scene = try Scene()
        #expect(scene.raw(send, over: .legacy).failure == "INVALID_ARGUMENT fix_message")
        #expect(scene.reply.status == 400)
        #expect(scene.reply.text.contains("JSON_PARSING_ERROR"))
    }
}
