import FCMSimulator
import FCMWire
import FanfareJSON
import FanfareModel
import Testing

@testable import FanfareCore

/// Messages to a group, and from one.
extension DeviceGroups {
    @Test("G3 G17 G18 G19: a send to a group's key reaches all members and answers success 2, failure 0")
    func everyMember() throws {
        var scene = try Scene()
        let key = try scene.makeGroup(Self.name, ["a", "b"])
        #expect(try scene.send(Self.hello, to: ("group", key), over: .legacy).isSent)
        #expect(try scene.reply.json() == ["success": 2, "failure": 0])
        let notification = #"{"notification":{"title":"t"},"data":{"a":"b"}}"#
        #expect(try scene.send(notification, to: ("group", key), over: .legacy).isSent)
        #expect(try scene.arrivals("a").last?.payload["notification"]?.object?["title"] == "t")
    }

    /// That the worker sends to them by itself, and when, is shown with a worker.
    @Test("G20 G21: members that failed are named, and each is then sent to by its token")
    func someMembers() throws {
        var scene = try Scene()
        let key = try scene.makeGroup(Self.name, ["regId1", "regId2", "c"])
        scene.device("regId1", Device(state: .unregistered))
        scene.device("regId2", Device(state: .unregistered))
        let verdict = try scene.send(Self.hello, to: ("group", key), over: .legacy)
        let reply = try scene.reply.json()
        #expect(reply["success"] == 1)
        #expect(reply["failure"] == 2)
        #expect(reply["failed_registration_ids"] == .array(["regId1", "regId2"]))
        guard case .sentPartly(let id, let failed) = verdict else {
            Issue.record("\(verdict)")
            return
        }
        #expect(failed == ["regId1", "regId2"])
        // The first has come back, the second never does.
        scene.device("regId1", Device(state: .healthy))
        var progress = GroupProgress(key: key, messageID: id, pending: failed)
        for token in failed {
            _ = progress.apply(try scene.send(Self.hello, to: ("token", token), over: .legacy), to: token)
        }
        #expect(progress.pending.isEmpty)
        #expect(progress.failedTokens == ["regId2"])
        #expect(progress.failed.map(\.isDead) == [true])
        for (token, count) in [("regId1", 1), ("regId2", 0), ("c", 1)] {
            #expect(try scene.arrivals(token).count == count)
        }
    }

    @Test("G21: the waits between the attempts for a member double")
    func backoff() throws {
        var scene = try Scene()
        let member = "sbx-unavailable-3-a"
        let (waits, last) = try scene.tries(Self.hello, to: ("token", member), over: .legacy)
        #expect(last.isSent)
        #expect(waits == [10_000, 20_000, 40_000])
    }

    @Test("G22: a send to a group without members answers success 0, failure 0")
    func emptyGroup() throws {
        var scene = try Scene()
        #expect(scene.control("POST", "/devices", #"{"group":"APA91bEmpty","members":[]}"#).status == 200)
        let verdict = try scene.send(Self.hello, to: ("group", "APA91bEmpty"), over: .legacy)
        #expect(try scene.reply.json() == ["success": 0, "failure": 0])
        #expect(verdict.failure == "EMPTY_GROUP none")
    }

    @Test("G20 G21: if all members failed and are named, they are sent to one by one")
    func noMember() throws {
        var scene = try Scene()
        let members = #"["sbx-unregistered-1","sbx-unavailable-1-2"]"#
        let group = #"{"group":"APA91bKey","members":\#(members),"names_all":true}"#
        #expect(scene.control("POST", "/devices", group).status == 200)
        let verdict = try scene.send(Self.hello, to: ("group", "APA91bKey"), over: .legacy)
        #expect(try scene.reply.json()["success"] == 0)
        let named = try #require(verdict.retry?.members)
        #expect(named == ["sbx-unregistered-1", "sbx-unavailable-1-2"])
        var progress = GroupProgress(key: "APA91bKey", messageID: "", pending: named, isReached: false)
        for token in named {
            _ = progress.apply(try scene.send(Self.hello, to: ("token", token), over: .legacy), to: token)
        }
        #expect(progress.isReached)
        #expect(progress.failedTokens == ["sbx-unregistered-1"])
        #expect(try scene.arrivals("sbx-unavailable-1-2").count == 1)
    }

    // MARK: XMPP

    @Test("G3 G23 G24 G25: over XMPP a group send gets an ack from the group's key with the counts")
    func xmppEveryMember() throws {
        var scene = try Scene()
        let key = try scene.makeGroup(Self.name, ["a", "b", "c"])
        #expect(try scene.send(Self.hello, to: ("group", key), over: .xmpp).isSent)
        let ack = try scene.reply.json()
        #expect(ack["message_type"] == "ack")
        #expect(ack["from"] == .string(key))
        #expect(ack["success"] == 3)
        #expect(ack["failure"] == 0)
        #expect(ack["message_id"]?.string?.hasPrefix("job/") == true)
        let line = try #require(scene.lines.values.first)
        let stanza = String(decoding: line.written, as: UTF8.self)
        #expect(stanza.contains(#"<gcm xmlns="google:mobile:data">"#))
        #expect(try scene.arrival("b").payload["hello"] != nil)
    }

    @Test("G24 G26: if one of three members got it, the ack names the others")
    func xmppSomeMembers() throws {
        var scene = try Scene()
        let key = try scene.makeGroup(Self.name, ["regId1", "regId2", "c"])
        for token in ["regId1", "regId2"] { scene.device(token, Device(state: .unregistered)) }
        let verdict = try scene.send(Self.hello, to: ("group", key), over: .xmpp)
        let ack = try scene.reply.json()
        #expect(ack["message_type"] == "ack")
        #expect(ack["success"] == 1)
        #expect(ack["failure"] == 2)
        guard case .sentPartly(_, let failed) = verdict else {
            Issue.record("\(verdict)")
            return
        }
        #expect(failed == ["regId1", "regId2"])
        // The document prints it without an id: it belongs to the oldest unanswered message to the group.
        let fault = #"{"match":{"path":"xmpp"},"action":{"without_id":true},"times":1}"#
        #expect(scene.control("POST", "/faults", fault).status == 200)
        let again = try scene.send(Self.hello, to: ("group", key), over: .xmpp)
        guard case .sentPartly(let id, ["regId1", "regId2"]) = again else {
            Issue.record("\(again)")
            return
        }
        #expect(try scene.reply.json()["message_id"]?.string == id && !id.isEmpty)
        #expect(try scene.arrivals("c").count == 2)
        let line = try scene.usualLine()
        #expect(line.incidents.isEmpty && scene.lines.count == 1)
    }

    @Test("G24 G27: if no member got it, a nack makes the group be retried")
    func xmppNobody() throws {
        var scene = try Scene()
        let key = try scene.makeGroup(Self.name, ["sbx-unavailable-1-a", "sbx-unavailable-1-b"])
        let verdict = try scene.send(Self.hello, to: ("group", key), over: .xmpp)
        #expect(try scene.reply.json()["message_type"] == "nack")
        #expect(verdict.retry != nil)
        #expect(try scene.send(Self.hello, to: ("group", key), over: .xmpp).isSent)
        // The same where nobody will ever get it.
        for token in ["a", "b"] { scene.device(token, Device(state: .unregistered)) }
        let gone = #"{"group":"APA91bGone","members":["a","b"]}"#
        #expect(scene.control("POST", "/devices", gone).status == 200)
        let last = try scene.send(Self.hello, to: ("group", "APA91bGone"), over: .xmpp)
        #expect(try scene.reply.json()["message_type"] == "nack")
        #expect(last.failure == "UNREGISTERED remove")
    }

    @Test("G29: a member's message to its group reaches the others with its id and lifetime")
    func upstreamToGroup() throws {
        var scene = try Scene()
        let key = try scene.makeGroup(Self.name, ["a", "b", "c"])
        for token in ["a", "b", "c"] { scene.device(token, Device(platform: .apple)) }
        let reply = scene.control("POST", "/upstream", #"{"from":"a","to":"\#(key)","data":{"hi":"all"}}"#)
        #expect(reply.status == 200)
        #expect(try scene.arrivals("a").isEmpty)
        for token in ["b", "c"] { #expect(try scene.arrival(token).payload["hi"] == "all") }
        // The caller's own id and lifetime: what is over when the others are back is not delivered.
        for token in ["b", "c"] { scene.device(token, Device(isOnline: false)) }
        for (id, seconds) in [("m-short", 60), ("m-long", 120)] {
            let fields = #""message_id":"\#(id)","ttl":\#(seconds),"data":{"n":"1"}"#
            let reply = scene.control("POST", "/upstream", #"{"from":"a","to":"\#(key)",\#(fields)}"#)
            #expect(try reply.json() == ["message_id": .string(id)])
        }
        scene.advance(ms: 60_000)
        for token in ["b", "c"] {
            scene.device(token, Device(isOnline: true))
            #expect(try scene.arrivals(token).dropFirst().map { $0.payload["gcm.message_id"] } == ["m-long"])
        }
        let stranger = scene.control("POST", "/upstream", #"{"from":"x","to":"\#(key)","data":{}}"#)
        #expect(stranger.status == 400)
    }
}
