import FCMSimulator
import FCMWire
import FanfareJSON
import FanfareModel
import Testing

/// The scenario of the document "XMPP protocol reference". The page "Statements" numbers what it says.
@Suite struct XMPPReference {
    static let score = LegacyHTTPReference.score
    static let fixMessage = "INVALID_ARGUMENT fix_message"

    /// A message past every check of ours; its `message_id` is its own.
    static func raw(_ json: String, _ scene: inout Scene, kind: RecipientKind = .token) throws -> Verdict {
        let id = try JSONParser.parse(Array(json.utf8)).object?["message_id"]?.string ?? "m"
        return try scene.exchange(Array(json.utf8), messageID: id, kind: kind, recipient: "")
    }

    // MARK: Table 1

    @Test("X2: `to` is a token, a group's key or one topic; more topics are a condition")
    func targets() throws {
        var scene = try Scene()
        let key = try scene.makeGroup("n", ["a", "b"])
        scene.device("c", Device(topics: ["news"]))
        for (field, value, member, to) in [
            ("token", "t", "to", "t"), ("group", key, "to", key), ("topic", "news", "to", "/topics/news"),
            ("condition", "'news' in topics", "condition", "'news' in topics"),
        ] {
            let job = try scene.intake(["message": Self.score, "format": "legacy", field: value], over: .xmpp)
            let json = try Scene.stanza(of: job, recipient: value, messageID: "m-1")
            #expect(try JSONParser.parse(json).object?[member] == .string(to))
            #expect(try scene.send(Self.score, to: (field, value), over: .xmpp).isSent)
        }
        scene.advance(ms: 1_000)
        for (token, count) in [("a", 1), ("b", 1), ("c", 2), ("t", 1)] {
            #expect(try scene.arrivals(token).count == count)
        }
        // Multicast is of HTTP alone.
        let many = try Self.raw(#"{"registration_ids":["a","b"],"message_id":"m-9"}"#, &scene)
        #expect(many.failure == Self.fixMessage)
    }

    @Test("X3 X4: a condition's words in any case, and two operators at most")
    func conditions() throws {
        var scene = try Scene()
        scene.device("a", Device(topics: ["x"]))
        #expect(try scene.send(Self.score, to: ("condition", "'x' IN TOPICS && 'x' in topics"), over: .xmpp).isSent)
        #expect(try scene.send(Self.score, to: ("condition", "'x' in topics || 'y' in topics"), over: .xmpp).isSent)
        scene.advance(ms: 1_000)
        #expect(try scene.arrivals("a").count == 2)
        // The words have no case. A topic's name has one, as in `to` and in a subscription.
        #expect(try scene.send(Self.score, to: ("condition", "'X' in topics"), over: .xmpp).isSent)
        scene.advance(ms: 1_000)
        #expect(try scene.arrivals("a").count == 2)
        let four = "'a' in topics || 'b' in topics || 'c' in topics || 'd' in topics"
        #expect(throws: Scene.Rejected.self) { try scene.send(Self.score, to: ("condition", four), over: .xmpp) }
    }

    @Test("X5: the answer repeats the message's id, which is unique on the connection")
    func messageIDs() throws {
        var scene = try Scene()
        let line = try scene.connect()
        let ids = try (1...3).map { index -> String in
            let id = XMPPMessageID(job: "news", index: index, attempt: 1, nonce: 5).description
            let json = Array(#"{"to":"t","message_id":"\#(id)"}"#.utf8)
            let outcome = try scene.post(json, messageID: id, tag: UInt64(index), on: line)
            guard case .stanza(let answer)? = outcome else { return "\(String(describing: outcome))" }
            return try #require(try JSONParser.parse(answer).object?["message_id"]?.string)
        }
        #expect(ids == (1...3).map { "news/\($0)/1/5" })
        #expect(ids.compactMap { XMPPMessageID(parsing: $0)?.index } == [1, 2, 3])
        // While one has no answer, another of the same id is not sent.
        #expect(scene.control("POST", "/faults", Self.fault(#"{"delay_ms":500}"#)).status == 200)
        let twice = Array(#"{"to":"t","message_id":"m-0"}"#.utf8)
        #expect(try scene.post(twice, messageID: "m-0", tag: 7, on: line) == nil)
        guard case .unsent? = try scene.post(twice, messageID: "m-0", tag: 8, on: line) else {
            Issue.record("\(line.outcomes)")
            return
        }
        scene.advance(ms: 500)
        try scene.settleXMPP()
        // Without one FCM cannot even refuse it by name: the stanza comes back as an error.
        let outcome = try scene.post(Array(#"{"to":"t"}"#.utf8), messageID: "m-1", tag: 9, on: line)
        let verdict = XMPPResponse.verdict(
            try #require(outcome),
            kind: .token,
            recipient: "t",
            nowMs: 0,
            atMostOnce: false
        )
        #expect(verdict.failure == Self.fixMessage)
    }

    @Test("X6 X8: of one collapse key the last message is stored, and of five keys four")
    func collapseKeys() throws {
        var scene = try Scene()
        scene.device("t", Device(isOnline: false))
        for round in 1...2 {
            for key in 1...4 {
                let message = #"{"collapse_key":"k\#(key)","data":{"round":"\#(round)"}}"#
                #expect(try scene.send(message, to: ("token", "t"), over: .xmpp).isSent)
            }
        }
        #expect(try scene.statistic("stored") == 4)
        try scene.send(#"{"collapse_key":"k5","data":{"round":"2"}}"#, to: ("token", "t"), over: .xmpp)
        scene.device("t", Device(isOnline: true))
        #expect(try scene.arrivals("t").compactMap { $0.payload["round"] } == ["2", "2", "2", "2"])
    }

    @Test("X9 X10 X11 X12: priorities have their numbers on Apple and their defaults")
    func priority() throws {
        var scene = try Scene()
        scene.device("apple", Device(platform: .apple))
        scene.device("android", Device(appState: .background, normalDelayMs: 5_000))
        let shown = #""notification":{"title":"t"}"#
        for (message, apple, count) in [
            (#"{"priority":"high",\#(shown)}"#, "10", 1), (#"{"priority":"normal",\#(shown)}"#, "5", 1),
            ("{\(shown)}", "10", 2), (Self.score, "5", 2),
        ] {
            try scene.send(message, to: ("token", "apple"), over: .xmpp)
            try scene.send(message, to: ("token", "android"), over: .xmpp)
            #expect(try scene.arrivals("apple").last?.headers["apns-priority"] == .string(apple))
            #expect(try scene.arrivals("android").count == count)
        }
        scene.advance(ms: 5_000)
        // The later notification had taken the place of the one that waited.
        #expect(try scene.arrivals("android").last?.payload["score"] == "3x1")
    }

    @Test("X13 X14 X15 X16 X17 X26: content_available and mutable_content act on Apple only, through APNs")
    func appleOptions() throws {
        var scene = try Scene()
        for platform in ["android", "apple", "web"] {
            scene.device(platform, Device(platform: .named(platform), appState: .background))
            let silent = #"{"content_available":true,"data":{"a":"b"}}"#
            #expect(try scene.send(silent, to: ("token", platform), over: .xmpp).isSent)
            let mutable = #"{"mutable_content":true,"notification":{"title":"t"}}"#
            #expect(try scene.send(mutable, to: ("token", platform), over: .xmpp).isSent)
        }
        let apple = try scene.arrivals("apple")
        #expect(apple.map { $0.headers["apns-push-type"] } == ["background", "alert"])
        #expect(apple.first?.aps["content-available"] == 1)
        #expect(apple.last?.aps["mutable-content"] == 1)
        for token in ["android", "web"] {
            let text = try scene.arrivals(token).map(\.text).joined()
            #expect(!text.contains("mutable") && !text.contains("content-available"))
        }
        #expect(try scene.arrivals("android").first?.callbacks == ["onMessageReceived:arrival:data"])
        scene.device("apple", Device(appState: .forceQuit))
        #expect(try scene.send(#"{"content_available":true}"#, to: ("token", "apple"), over: .xmpp).isSent)
        #expect(try scene.dropped("silent") == 1)
        // Data alone went over a channel of FCM's own once, and goes through APNs now.
        try scene.send(Self.score, to: ("token", "apple"), over: .xmpp)
        scene.device("apple", Device(appState: .foreground))
        try scene.send(Self.score, to: ("token", "apple"), over: .xmpp)
        #expect(try scene.arrivals("apple").last?.headers["apns-push-type"] == "background")
    }

    @Test("X18: a message is kept for time_to_live seconds, four weeks at most and by default")
    func timeToLive() throws {
        for (members, wait, count) in [
            (#""time_to_live":60,"#, Int64(59_999), 1), (#""time_to_live":60,"#, 60_000, 0),
            ("", 2_419_199_999, 1), ("", 2_419_200_000, 0),
        ] {
            var scene = try Scene()
            scene.device("t", Device(isOnline: false))
            try scene.send(#"{\#(members)"data":{"a":"b"}}"#, to: ("token", "t"), over: .xmpp)
            scene.advance(ms: wait)
            scene.device("t", Device(isOnline: true))
            #expect(try scene.arrivals("t").count == count)
        }
    }

    @Test("X19 X20: a requested receipt comes when the device has the message, except from Apple")
    func receipts() throws {
        var scene = try Scene()
        let line = try scene.connect()
        scene.device("apple", Device(platform: .apple))
        scene.device("offline", Device(isOnline: false))
        let wish = #"{"delivery_receipt_requested":true,"data":{"a":"b"}}"#
        for token in ["apple", "offline", "t"] {
            #expect(try scene.send(wish, to: ("token", token), over: .xmpp).isSent)
        }
        try scene.send(Self.score, to: ("token", "t"), over: .xmpp)
        try scene.settleXMPP()
        #expect(line.incoming.count == 1)
        scene.device("offline", Device(isOnline: true))
        try scene.settleXMPP()
        let tokens = line.incoming.map { incoming -> String in
            if case .receipt(_, _, let token, _) = incoming.0.kind { return token }
            return ""
        }
        #expect(tokens == ["t", "offline"])
        // Over HTTP nobody could bring it.
        #expect(throws: Scene.Rejected.self) { try scene.send(wish, to: ("token", "t"), over: .legacy) }
    }

    @Test("X21: dry_run checks without sending")
    func dryRun() throws {
        var scene = try Scene()
        #expect(try scene.send(Self.score, to: ("token", "t"), over: .xmpp, validateOnly: true).isSent)
        #expect(try scene.arrivals("t").isEmpty)
        let failure = try scene.send(Self.score, to: ("token", "sbx-invalid-1"), over: .xmpp, validateOnly: true)
        #expect(failure.failure == "INVALID_ARGUMENT remove")
    }

    // MARK: Payload

    @Test("X22 X23 X24: data become extras and custom fields, as strings; reserved keys are refused")
    func data() throws {
        var scene = try Scene()
        scene.device("apple", Device(platform: .apple))
        for token in ["android", "apple"] {
            try scene.send(#"{"data":{"score":"3x1","n":7}}"#, to: ("token", token), over: .xmpp)
            #expect(try scene.arrival(token).payload["score"] == "3x1")
            #expect(try scene.arrival(token).payload["n"] == "7")
        }
        for key in ["from", "googleX", "gcmX"] {
            #expect(throws: Scene.Rejected.self) {
                try scene.send(#"{"data":{"\#(key)":"1"}}"#, to: ("token", "t"), over: .xmpp)
            }
        }
        let message = #"{"collapse_key":"real","data":{"collapse_key":"mine"}}"#
        #expect(try scene.send(message, to: ("token", "t"), over: .xmpp).isSent)
        #expect(try scene.arrival("t").payload["collapse_key"] == "real")
    }

    @Test("X25: a notification and data arrive together, as over HTTP")
    func notification() throws {
        var scene = try Scene()
        scene.device("t", Device(appState: .background))
        let message = #"{"notification":{"title":"T"},"data":{"a":"b"}}"#
        #expect(try scene.send(message, to: ("token", "t"), over: .xmpp).isSent)
        #expect(try scene.arrival("t").callbacks == ["tray:arrival:notification", "intent:tap:data"])
    }
}
