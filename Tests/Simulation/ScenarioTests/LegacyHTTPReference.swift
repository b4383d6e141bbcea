import FCMSimulator
import FCMWire
import FanfareJSON
import FanfareModel
import Testing

/// The scenario of the document "Legacy HTTP reference". The page "Statements" numbers what it says.
@Suite struct LegacyHTTPReference {
    static let score = #"{"data":{"score":"3x1"}}"#

    // MARK: Targets

    @Test("L1 L2: one endpoint, and `to` is a token, a group's key or one topic")
    func targets() throws {
        var scene = try Scene()
        let key = try scene.makeGroup("n", ["a", "b"])
        scene.device("c", Device(topics: ["news"]))
        for (field, value, to) in [("token", "t", "t"), ("group", key, key), ("topic", "news", "/topics/news")] {
            let job = try scene.intake(["message": Self.score, "format": "legacy", field: value], over: .legacy)
            let body = try Scene.body(of: job, recipient: value, over: .legacy, nowMs: scene.nowMs)
            #expect(try JSONParser.parse(body).object?["to"] == .string(to))
            #expect(try scene.send(Self.score, to: (field, value), over: .legacy).isSent)
        }
        scene.advance(ms: 1_000)
        for token in ["a", "b", "c", "t"] { #expect(try scene.arrivals(token).count == 1) }
    }

    @Test("L3 L5: a multicast has 1 to 1,000 tokens, in JSON only, and a result for each")
    func multicast() throws {
        var scene = try Scene()
        let tokens = (0..<1_000).map { "t\($0)" }
        #expect(try scene.multicast(Self.score, to: tokens).filter(\.isSent).count == 1_000)
        #expect(try scene.arrivals("t999").count == 1)
        let many = tokens.map { "\"\($0)\"" }.joined(separator: ",")
        #expect(scene.raw(#"{"registration_ids":[\#(many),"one"]}"#, over: .legacy).failure == Self.fixMessage)
        #expect(scene.reply.status == 400)
        #expect(scene.raw(#"{"registration_ids":[]}"#, over: .legacy).failure == Self.fixMessage)
        #expect(scene.raw(#"{"registration_ids":["a"],"to":"b"}"#, over: .legacy).failure == Self.fixMessage)
        // Twice a token is not a multicast in plain text, and nothing else is either.
        let twice = scene.raw("registration_id=a&registration_id=b", over: .plainText)
        #expect(twice.failure == Self.fixMessage)
        #expect(try scene.arrivals("a").isEmpty)
    }

    @Test("L6 L7: a condition over topics, in any case, with two operators at most")
    func conditions() throws {
        var scene = try Scene()
        for (token, topics) in [("a", ["x"]), ("b", ["x", "y"]), ("c", ["z"])] {
            scene.device(token, Device(topics: topics))
        }
        // The words have no case. A topic's name has one, as in `to` and in a subscription.
        let table = [
            ("'x' in topics", ["a", "b"]), ("'X' IN TOPICS", []), ("'x' IN Topics", ["a", "b"]),
            ("'x' in topics && 'y' in topics", ["b"]), ("'y' in topics || 'z' in topics", ["b", "c"]),
            ("'x' in topics && ('y' in topics || 'z' in topics)", ["b"]),
        ]
        for (condition, expected) in table {
            var trial = scene
            #expect(try trial.send(Self.score, to: ("condition", condition), over: .legacy).isSent)
            trial.advance(ms: 1_000)
            let got = try ["a", "b", "c"].filter { try !trial.arrivals($0).isEmpty }
            #expect(got == expected, "\(condition)")
        }
        let four = "'a' in topics || 'b' in topics || 'c' in topics || 'd' in topics"
        #expect(throws: Scene.Rejected.self) { try scene.send(Self.score, to: ("condition", four), over: .legacy) }
    }

    @Test("L8: notification_key is refused; a group's key goes into `to`")
    func notificationKey() throws {
        var scene = try Scene()
        #expect(throws: Scene.Rejected.self) {
            try scene.send(#"{"notification_key":"k"}"#, to: ("token", "t"), over: .legacy)
        }
        #expect(scene.raw(#"{"to":"t","notification_key":"k"}"#, over: .legacy).failure == Self.fixMessage)
    }

    // MARK: Options

    @Test("L9 L11: of one collapse key the last message is kept, of four keys at a time")
    func collapseKey() throws {
        var scene = try Scene()
        scene.device("t", Device(isOnline: false))
        for round in 1...2 {
            for key in 1...4 {
                let message = #"{"collapse_key":"Updates \#(key)","data":{"round":"\#(round)"}}"#
                try scene.send(message, to: ("token", "t"), over: .legacy)
            }
        }
        #expect(try scene.statistic("stored") == 4)
        try scene.send(#"{"collapse_key":"Updates 5","data":{"round":"2"}}"#, to: ("token", "t"), over: .legacy)
        scene.device("t", Device(isOnline: true))
        #expect(try scene.arrivals("t").compactMap { $0.payload["round"] } == ["2", "2", "2", "2"])
    }

    @Test("L12 L13: priorities are 5 and 10 on Apple; by default notifications are high and data normal")
    func priority() throws {
        var scene = try Scene()
        scene.device("apple", Device(platform: .apple))
        let shown = #""notification":{"title":"t"}"#
        let table = [
            (#"{"priority":"high",\#(shown)}"#, "high", "10"), (#"{"priority":"normal",\#(shown)}"#, "normal", "5"),
            ("{\(shown)}", "high", "10"), (Self.score, "normal", "5"),
        ]
        for (message, android, apple) in table {
            try scene.send(message, to: ("token", "android"), over: .legacy)
            try scene.send(message, to: ("token", "apple"), over: .legacy)
            #expect(try scene.arrivals("android").last?.payload["google.original_priority"] == .string(android))
            #expect(try scene.arrivals("apple").last?.headers["apns-priority"] == .string(apple))
        }
        #expect(throws: Scene.Rejected.self) {
            try scene.send(#"{"priority":"urgent"}"#, to: ("token", "t"), over: .legacy)
        }
        #expect(scene.raw(#"{"to":"t","priority":"urgent"}"#, over: .legacy).failure == Self.fixMessage)
    }

    @Test("L14 L15: normal priority may be late, high is delivered at once and shows its notification")
    func prioritiesInTheBackground() throws {
        var scene = try Scene()
        scene.device("t", Device(appState: .background, normalDelayMs: 5_000))
        try scene.send(#"{"priority":"normal","data":{"p":"n"}}"#, to: ("token", "t"), over: .legacy)
        try scene.send(#"{"priority":"high","notification":{"title":"now"}}"#, to: ("token", "t"), over: .legacy)
        #expect(try scene.arrivals("t").map(\.shown) == [["now"]])
        scene.advance(ms: 5_000)
        #expect(try scene.arrivals("t").last?.payload["p"] == "n")
    }

    @Test("L16 L17 L18: content_available wakes an Apple app by a silent push, which can be lost; Android wakes anyway")
    func contentAvailable() throws {
        var scene = try Scene()
        let message = #"{"content_available":true,"data":{"score":"3x1"}}"#
        scene.device("apple", Device(platform: .apple, appState: .background))
        try scene.send(message, to: ("token", "apple"), over: .legacy)
        let silent = try scene.arrival("apple")
        #expect(silent.aps == ["content-available": 1])
        #expect(silent.headers["apns-push-type"] == "background")
        #expect(silent.callbacks.first?.hasPrefix("application(_:didReceiveRemoteNotification") == true)
        for state in ["low_power", "force_quit"] {
            scene.device("apple", Device(appState: .named(state)))
            #expect(try scene.send(message, to: ("token", "apple"), over: .legacy).isSent)
        }
        #expect(try scene.arrivals("apple").count == 1)
        #expect(try scene.dropped("silent") == 2)
        scene.device("android", Device(appState: .background))
        scene.device("web", Device(platform: .web))
        for token in ["android", "web"] { try scene.send(message, to: ("token", token), over: .legacy) }
        #expect(try scene.arrival("android").callbacks == ["onMessageReceived:arrival:data"])
        // Not of Chrome: nothing of it is there.
        #expect(try scene.arrival("web").text.contains("content") == false)
    }

    @Test("L19: mutable_content lets an extension change the notification on Apple, and is ignored elsewhere")
    func mutableContent() throws {
        var scene = try Scene()
        let message = #"{"mutable_content":true,"notification":{"title":"t"}}"#
        for platform in ["android", "apple", "web"] {
            scene.device(platform, Device(platform: .named(platform), appState: .background))
            try scene.send(message, to: ("token", platform), over: .legacy)
        }
        let apple = try scene.arrival("apple")
        #expect(apple.aps["mutable-content"] == 1)
        #expect(apple.callbacks.first?.hasPrefix("UNNotificationServiceExtension") == true)
        for token in ["android", "web"] {
            #expect(try scene.arrival(token).text.contains("mutable") == false)
            #expect(try scene.arrival(token).shown == ["t"])
        }
    }

    @Test("L20: a message is kept for time_to_live seconds, four weeks at most and by default")
    func timeToLive() throws {
        for (members, wait, count) in [
            (#""time_to_live":60,"#, Int64(59_999), 1), (#""time_to_live":60,"#, 60_000, 0),
            ("", 2_419_199_999, 1), ("", 2_419_200_000, 0),
        ] {
            var scene = try Scene()
            scene.device("t", Device(isOnline: false))
            try scene.send(#"{\#(members)"data":{"a":"b"}}"#, to: ("token", "t"), over: .legacy)
            scene.advance(ms: wait)
            scene.device("t", Device(isOnline: true))
            #expect(try scene.arrivals("t").count == count)
        }
    }

    @Test("L21: with restricted_package_name only that app gets the message")
    func restrictedPackage() throws {
        var scene = try Scene()
        scene.device("t", Device(package: "com.example.app"))
        func message(_ package: String) -> String {
            #"{"restricted_package_name":"\#(package)","data":{"a":"b"}}"#
        }
        for carrier in [Scene.Carrier.legacy, .plainText] {
            #expect(try scene.send(message("com.example.app"), to: ("token", "t"), over: carrier).isSent)
            #expect(try scene.send(message("com.other"), to: ("token", "t"), over: carrier).failure == Self.fixMessage)
            #expect(scene.reply.text.contains("InvalidPackageName"))
        }
    }

    @Test("L22: dry_run checks without sending; by default it is off")
    func dryRun() throws {
        var scene = try Scene()
        for carrier in [Scene.Carrier.legacy, .plainText] {
            #expect(try scene.send(Self.score, to: ("token", "t"), over: carrier, validateOnly: true).isSent)
            #expect(try scene.arrivals("t").isEmpty)
            let failure = try scene.send(Self.score, to: ("token", "sbx-invalid-1"), over: carrier, validateOnly: true)
            #expect(failure.failure == "INVALID_ARGUMENT remove")
        }
        try scene.send(Self.score, to: ("token", "t"), over: .legacy)
        #expect(try scene.arrivals("t").count == 1)
    }

    static let fixMessage = "INVALID_ARGUMENT fix_message"
}
