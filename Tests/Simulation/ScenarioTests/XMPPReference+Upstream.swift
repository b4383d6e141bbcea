import ExpatKit
import FCMSimulator
import FCMWire
import FanfareJSON
import FanfareModel
import Testing

/// Tables 5 to 7: what devices and FCM say to the app server, and how it answers.
extension XMPPReference {
    @discardableResult
    static func upstream(_ scene: inout Scene, _ members: String) throws -> SimulatorReply {
        let reply = scene.control("POST", "/upstream", "{\(members)}")
        try scene.settleXMPP()
        return reply
    }

    static func upstreamCount(_ scene: inout Scene, _ name: String) throws -> Int64 {
        let stats = try scene.control("GET", "/stats").json()["xmpp"]?.object
        return try #require(stats?[name]?.number?.int64)
    }

    @Test("X67 X68: an upstream message has from, category, message_id and data")
    func upstreamMessage() throws {
        var scene = try Scene()
        let line = try scene.connect()
        scene.device("t", Device(package: "com.example.app"))
        try Self.upstream(&scene, #""from":"t","data":{"hello":"server"}"#)
        let incoming = try #require(line.incoming.first?.0)
        #expect(incoming.kind == .message)
        #expect(incoming.from == "t")
        #expect(incoming.category == "com.example.app")
        #expect(!incoming.messageID.isEmpty)
        #expect(try JSONParser.parse(incoming.data) == .object(["hello": "server"]))
    }

    @Test("X68: upstream data that is a string, as table 5 types it, stays a string")
    func upstreamText() throws {
        var scene = try Scene()
        let line = try scene.connect()
        try Self.upstream(&scene, #""from":"t","data":"hello \"server\"""#)
        let (incoming, number) = try #require(line.incoming.first)
        #expect(try JSONParser.parse(incoming.data) == .string(#"hello "server""#))
        try scene.handle(.acknowledge(number), on: line)
        #expect(try Self.upstreamCount(&scene, "upstream_acked") == 1)
    }

    @Test("X69: an upstream message without an ack comes again on the next connection")
    func acknowledgement() throws {
        var scene = try Scene()
        let first = try scene.connect()
        try Self.upstream(&scene, #""from":"t","data":{}"#)
        try scene.cut(first)
        let second = try scene.connect()
        try scene.settleXMPP()
        let (again, number) = try #require(second.incoming.first)
        #expect(again.messageID == first.incoming.first?.0.messageID)
        try scene.handle(.acknowledge(number), on: second)
        #expect(try Self.upstreamCount(&scene, "upstream_acked") == 1)
        let ack = String(decoding: second.written, as: UTF8.self)
        #expect(ack.contains("&quot;to&quot;:&quot;t&quot;"))
        #expect(ack.contains("&quot;message_type&quot;:&quot;ack&quot;"))
        #expect(ack.contains(again.messageID))
        try scene.cut(second)
        let third = try scene.connect()
        try scene.settleXMPP()
        #expect(third.incoming.isEmpty)
    }

    @Test("X58: after BAD_ACK an ack is sent once more and then dropped; no recipient is affected")
    func badAck() throws {
        var scene = try Scene()
        let line = try scene.connect()
        try Self.upstream(&scene, #""from":"t","data":{}"#)
        let (incoming, number) = try #require(line.incoming.first)
        // An ack that FCM cannot read, from somebody else's hand.
        let bad = #"{"to":"other","message_id":"\#(incoming.messageID)","message_type":"ack"}"#
        let stanza = #"<message id=""><gcm xmlns="google:mobile:data">\#(bad)</gcm></message>"#
        for event in try line.fromClient.feed(Array(stanza.utf8)) {
            scene.simulator.receiveXMPP(event, on: line.id, nowMs: scene.nowMs)
        }
        try scene.carry()
        #expect(line.incidents.count == 1)
        #expect(line.closeReason == nil)
        #expect(try Self.upstreamCount(&scene, "bad_acks") == 1)
        // Ours is right, and the connection continues.
        try scene.handle(.acknowledge(number), on: line)
        #expect(try Self.upstreamCount(&scene, "upstream_acked") == 1)
        // Were ours refused, it would be said once more.
        var session = line.session
        let nack = #"{"message_type":"nack","message_id":"\#(incoming.messageID)","error":"BAD_ACK"}"#
        let text = #"<message><gcm xmlns="google:mobile:data">\#(nack)</gcm></message>"#
        var repeats = 0
        for event in try line.fromServer.feed(Array((text + text).utf8)) {
            for case .write in session.handle(.arrived(event), nowMs: scene.nowMs) { repeats += 1 }
        }
        #expect(repeats == 1)
    }

    @Test("X70 X71 X72 X73 X74 X75: a receipt comes from FCM under dr2: and the message's id, with status and token")
    func receipt() throws {
        var scene = try Scene()
        let line = try scene.connect()
        scene.device("t", Device(package: "com.example.app"))
        let wish = #"{"delivery_receipt_requested":true,"data":{"a":"b"}}"#
        let id = XMPPMessageID(job: "job", index: 1, attempt: 1, nonce: 7).description
        try scene.send(wish, to: ("token", "t"), over: .xmpp)
        try scene.settleXMPP()
        let (incoming, number) = try #require(line.incoming.first)
        guard case .receipt(let status, let original, let token, _) = incoming.kind else {
            Issue.record("\(incoming)")
            return
        }
        #expect(incoming.from == "gcm.googleapis.com")
        #expect(incoming.messageID == "dr2:" + id)
        #expect(incoming.category == "com.example.app")
        #expect(status == "MESSAGE_SENT_TO_DEVICE")
        #expect(original == id)
        #expect(token == "t")
        // Which job and recipient it is about is in the id itself.
        #expect(XMPPMessageID(parsing: original)?.job == "job")
        let data = try #require(try JSONParser.parse(incoming.data).object)
        #expect(data["device_registration_id"] == "t")
        try scene.handle(.acknowledge(number), on: line)
        #expect(try Self.upstreamCount(&scene, "upstream_acked") == 1)
        #expect(String(decoding: line.written, as: UTF8.self).contains("dr2:" + id))
    }

    @Test("X73 X74 X75: a receipt whose data is a string, as table 7 types it, is read the same")
    func receiptText() throws {
        var scene = try Scene()
        let line = try scene.connect()
        scene.device("t", Device(receipts: .string))
        try scene.send(#"{"delivery_receipt_requested":true,"data":{"a":"b"}}"#, to: ("token", "t"), over: .xmpp)
        try scene.settleXMPP()
        let incoming = try #require(line.incoming.first?.0)
        let id = XMPPMessageID(job: "job", index: 1, attempt: 1, nonce: 7).description
        guard case .receipt("MESSAGE_SENT_TO_DEVICE", id, "t", _) = incoming.kind else {
            Issue.record("\(incoming)")
            return
        }
        #expect(try JSONParser.parse(incoming.data).object?["device_registration_id"] == "t")
    }

    @Test("X70 X76 X77: a draining connection takes no new messages and answers those in flight")
    func draining() throws {
        var scene = try Scene()
        let line = try scene.connect()
        let fault = #"{"match":{"path":"xmpp"},"action":{"delay_ms":500},"times":1}"#
        #expect(scene.control("POST", "/faults", fault).status == 200)
        #expect(
            try scene.post(Array(#"{"to":"t","message_id":"m-1"}"#.utf8), messageID: "m-1", tag: 1, on: line) == nil
        )
        #expect(scene.control("POST", "/drain", "{}").status == 200)
        try scene.settleXMPP()
        #expect(line.isDraining)
        #expect(line.session.room == 0)
        let late = try scene.post(Array(#"{"to":"t","message_id":"m-2"}"#.utf8), messageID: "m-2", tag: 2, on: line)
        guard case .unsent? = late else {
            Issue.record("\(String(describing: late))")
            return
        }
        scene.advance(ms: 500)
        try scene.settleXMPP()
        guard case .stanza? = line.outcomes[1] else {
            Issue.record("\(line.outcomes)")
            return
        }
        #expect(try scene.arrivals("t").count == 1)
        // Other messages go elsewhere, and the server ends this connection in its own time.
        #expect(try scene.send(Self.score, to: ("token", "t"), over: .xmpp).isSent)
        scene.advance(ms: 60_000)
        try scene.settleXMPP()
        #expect(scene.lines[line.id] == nil)
        #expect(scene.lines.count == 1)
    }
}
