import FCMSimulator
import FCMWire
import FanfareCore
import FanfareJSON
import FanfareModel
import Testing

/// Tables 3 and 4: answers and their errors.
extension XMPPReference {
    static func fault(_ action: String, times: Int = 1) -> String {
        #"{"match":{"path":"xmpp"},"action":\#(action),"times":\#(times)}"#
    }

    @Test("X47 X48 X49: an ack or nack comes from the token, names the message's id, and a nack its error")
    func answers() throws {
        var scene = try Scene()
        try scene.send(Self.score, to: ("token", "t"), over: .xmpp)
        let ack = try scene.reply.json()
        #expect(ack["from"] == "t")
        #expect(ack["message_type"] == "ack")
        #expect(XMPPMessageID(parsing: ack["message_id"]?.string ?? "") != nil)
        #expect(ack["error"] == nil)
        try scene.send(Self.score, to: ("token", "sbx-unregistered-1"), over: .xmpp)
        let nack = try scene.reply.json()
        #expect(nack["from"] == "sbx-unregistered-1")
        #expect(nack["message_type"] == "nack")
        #expect(nack["error"] == "DEVICE_UNREGISTERED")
        #expect(nack["error_description"]?.string?.isEmpty == false)
    }

    @Test("X51 X53 X66: an invalid token, another sender's and one without APNs key each get their error")
    func permanentErrors() throws {
        var scene = try Scene()
        for (token, code, failure) in [
            ("sbx-invalid-1", "BAD_REGISTRATION", "INVALID_ARGUMENT remove"),
            ("sbx-mismatch-1", "SENDER_ID_MISMATCH", "SENDER_ID_MISMATCH fix_credentials"),
            ("sbx-auth-1", "INVALID_APNS_CREDENTIAL", "THIRD_PARTY_AUTH_ERROR fix_credentials"),
        ] {
            #expect(try scene.send(Self.score, to: ("token", token), over: .xmpp).failure == failure)
            #expect(try scene.reply.json()["error"] == .string(code))
        }
    }

    @Test("X52: a token that ended for any reason gets DEVICE_UNREGISTERED and is to be removed")
    func unregistered() throws {
        var scene = try Scene()
        scene.device("unregistered", Device(state: .unregistered))
        scene.device("expired", Device(inactiveDays: 270))
        scene.device("apple", Device(platform: .apple, state: .disabled))
        scene.device("uninstalled", Device(state: .uninstalled))
        #expect(try scene.send(Self.score, to: ("token", "uninstalled"), over: .xmpp).isSent)
        for token in ["unregistered", "expired", "apple", "uninstalled"] {
            #expect(try scene.send(Self.score, to: ("token", token), over: .xmpp).failure == "UNREGISTERED remove")
            #expect(try scene.reply.json()["error"] == "DEVICE_UNREGISTERED")
        }
    }

    @Test("X50 X54 X55 X56 X57: a missing token, wrong type, size, reserved key or lifetime gets INVALID_JSON")
    func invalidJSON() throws {
        var scene = try Scene()
        let long = String(repeating: "x", count: 4_096)
        for (index, members) in [
            #""data":{"a":"b"}"#, #""to":"t","time_to_live":"60""#, #""to":"t","colour":"red""#,
            #""to":"t","data":{"k":"\#(long)"}"#, #""to":"/topics/t","data":{"k":"\#(long.prefix(2_048))"}"#,
            #""to":"t","data":{"from":"x"}"#, #""to":"t","data":{"gcmX":"x"}"#, #""to":"t","time_to_live":2419201"#,
            #""to":"t","time_to_live":-1"#,
        ].enumerated() {
            let verdict = try Self.raw(#"{"message_id":"m-\#(index)",\#(members)}"#, &scene)
            #expect(verdict.failure == Self.fixMessage, "\(members.prefix(80))")
            #expect(try scene.reply.json()["error"] == "INVALID_JSON")
        }
        // None of these would leave Fanfare.
        for message in [
            #"{"time_to_live":2419201}"#, #"{"time_to_live":"60"}"#, #"{"colour":"red"}"#,
            #"{"data":{"k":"\#(long)"}}"#, #"{"data":{"from":"x"}}"#, #"{"restricted_package_name":"com.example"}"#,
        ] {
            #expect(throws: Scene.Rejected.self) { try scene.send(message, to: ("token", "t"), over: .xmpp) }
        }
        let topic = #"{"data":{"k":"\#(long.prefix(2_048))"}}"#
        #expect(throws: Scene.Rejected.self) { try scene.send(topic, to: ("topic", "t"), over: .xmpp) }
    }

    @Test("X59 X60 X62: SERVICE_UNAVAILABLE and INTERNAL_SERVER_ERROR are retried with doubling waits and jitter")
    func retryableErrors() throws {
        for (token, error) in [("sbx-unavailable-3-t", ErrorCode.unavailable), ("sbx-internal-3-t", .internalError)] {
            var scene = try Scene()
            let (waits, last) = try scene.tries(Self.score, to: ("token", token), over: .xmpp)
            // The document begins with a second; FCM asks for ten by now.
            #expect(waits == [10_000, 20_000, 40_000])
            #expect(last.isSent)
            var other = try Scene()
            let retry = try #require(try other.send(Self.score, to: ("token", token), over: .xmpp).retry)
            #expect(retry.failure.error == error)
            let jittered = try other.tries(Self.score, to: ("token", token), over: .xmpp, random: 0.5).waits
            #expect(jittered == [15_000, 30_000])
        }
    }

    @Test("X63 X64: beyond the rate of a device or topic only that one waits")
    func rates() throws {
        for (target, error) in [
            (("token", "sbx-devicerate-2-t"), "DEVICE_MESSAGE_RATE_EXCEEDED"),
            (("topic", "sbx-topicrate-2-t"), "TOPICS_MESSAGE_RATE_EXCEEDED"),
        ] {
            var scene = try Scene()
            let retry = try #require(try scene.send(Self.score, to: target, over: .xmpp).retry)
            #expect(try scene.reply.json()["error"] == .string(error))
            #expect(retry.scope == (target.0 == "topic" ? .topic : .device))
            #expect(try scene.tries(Self.score, to: target, over: .xmpp).waits == [60_000])
        }
    }

    @Test("X61 L62: the Runbook says what a sender risks that disregards the limits")
    func blockedSenders() throws {
        let page = try Documentation.page("Runbook/FanfareQuotaRefused").replacing("\n", with: " ")
        #expect(page.contains("FCM may block senders that ignore its limits."))
        #expect(page.contains("do not bypass the hold"))
    }

    @Test("X65: a nack CONNECTION_DRAINING is retried at once on another connection")
    func drainingNack() throws {
        var scene = try Scene()
        let first = try scene.connect()
        #expect(scene.control("POST", "/faults", Self.fault(#"{"draining":true}"#)).status == 200)
        let outcome = try scene.post(Array(#"{"to":"t","message_id":"m-1"}"#.utf8), messageID: "m-1", tag: 1, on: first)
        guard case .stanza? = outcome else {
            Issue.record("\(String(describing: outcome))")
            return
        }
        #expect(first.isDraining)
        #expect(first.session.room == 0)
        let verdict = XMPPResponse.verdict(
            try #require(outcome),
            kind: .token,
            recipient: "t",
            nowMs: scene.nowMs,
            atMostOnce: true
        )
        // Not looked at: even a job that allows one attempt is sent again.
        #expect(verdict.retry?.cause == .refused)
        #expect(verdict.retry?.countsAttempt == false)
        #expect(try scene.send(Self.score, to: ("token", "t"), over: .xmpp).isSent)
        #expect(scene.lines.count == 2)
        #expect(try scene.arrivals("t").count == 1)
    }
}
