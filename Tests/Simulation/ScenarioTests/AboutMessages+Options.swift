import FanfareJSON
import FanfareModel
import Testing

/// Blocks for one platform, collapsing, priority.
extension AboutMessages {
    /// A generic title for all, and particular things for each platform.
    static let overrides = #"""
        {"notification":{"title":"Match update","body":"Arsenal goal in added time, score is now 3-0"},
         "android":{"ttl":"86400s","notification":{"click_action":"OPEN_ACTIVITY_1"}},
         "apns":{"headers":{"apns-priority":"5"},"payload":{"aps":{"category":"NEW_MESSAGE_CATEGORY"}}},
         "webpush":{"headers":{"TTL":"86400"}}}
        """#
    static let magazine = #"""
        {"notification":{"body":"This week's edition is now available.","title":"NewsMagazine.com"},
         "data":{"volume":"3.21.15","contents":"http://www.news-magazine.com/world-week/21659772"},
         "android":{"priority":"normal"},"apns":{"headers":{"apns-priority":"5"}},
         "webpush":{"headers":{"Urgency":"high"}}}
        """#

    /// An Android, an Apple and a web device, all in the background.
    static func threePlatforms() throws -> Scene {
        var scene = try Scene()
        for token in ["android", "apple", "web"] {
            scene.device(token, Device(platform: .named(token), appState: .background))
        }
        return scene
    }

    @Test("A20 A21 A22 A23 A25 A26 A27: common fields for all, and each platform's block for its own devices alone")
    func platformBlocks() throws {
        var scene = try Self.threePlatforms()
        for token in ["android", "apple", "web"] { try scene.send(Self.overrides, to: ("token", token)) }
        let android = try scene.arrival("android")
        let apple = try scene.arrival("apple")
        let web = try scene.arrival("web")
        for arrival in [android, apple, web] { #expect(arrival.shown == ["Match update"]) }
        #expect(android.opens == "OPEN_ACTIVITY_1")
        #expect(android.payload["google.ttl"] == 86_400)
        #expect(apple.aps["category"] == "NEW_MESSAGE_CATEGORY")
        #expect(apple.headers["apns-priority"] == "5")
        #expect(web.headers["TTL"] == "86400")
        // Nothing of one platform's block is seen on another.
        #expect(apple.text.contains("OPEN_ACTIVITY_1") == false)
        #expect(android.text.contains("NEW_MESSAGE_CATEGORY") == false)
        #expect(web.headers["apns-priority"] == nil)
        // Seconds on Android, a date on Apple: which is why there is no common field.
        #expect(apple.headers["apns-expiration"] == .string(String(scene.nowMs / 1_000 + 30 * 86_400)))
    }

    @Test("A24: with two blocks instead of the common field a notification is shown on Apple and the web only")
    func notOnAndroid() throws {
        var scene = try Self.threePlatforms()
        let message = #"""
            {"apns":{"payload":{"aps":{"alert":{"title":"Goal"}}}},"webpush":{"notification":{"title":"Goal"}},
             "data":{"score":"3-0"}}
            """#
        for token in ["android", "apple", "web"] { try scene.send(message, to: ("token", token)) }
        #expect(try scene.arrival("apple").shown == ["Goal"])
        #expect(try scene.arrival("web").shown == ["Goal"])
        #expect(try scene.arrival("android").shown == [])
        #expect(try scene.arrival("android").callbacks == ["onMessageReceived:arrival:data"])
    }

    @Test("A22: one message to a topic is merged for each platform among its subscribers")
    func commonFieldsForTopics() throws {
        var scene = try Self.threePlatforms()
        for token in ["android", "apple", "web"] { scene.device(token, Device(topics: ["subscriber-updates"])) }
        #expect(try scene.send(Self.overrides, to: ("topic", "subscriber-updates")).isSent)
        scene.advance(ms: 1_000)
        for token in ["android", "apple", "web"] { #expect(try scene.arrival(token).shown == ["Match update"]) }
        #expect(try scene.arrival("apple").aps["category"] == "NEW_MESSAGE_CATEGORY")
    }

    @Test("A44: the example's message reaches all subscribers with normal priority")
    func magazineMessage() throws {
        var scene = try Self.threePlatforms()
        for token in ["android", "apple", "web"] { scene.device(token, Device(topics: ["subscriber-updates"])) }
        #expect(try scene.send(Self.magazine, to: ("topic", "subscriber-updates")).isSent)
        scene.advance(ms: 1_000)
        let android = try scene.arrival("android")
        #expect(android.payload["google.original_priority"] == "normal")
        #expect(android.payload["from"] == "/topics/subscriber-updates")
        #expect(android.payload["volume"] == "3.21.15")
        #expect(try scene.arrival("apple").headers["apns-priority"] == "5")
        #expect(try scene.arrival("web").headers["Urgency"] == "high")
        #expect(android.notifications.first?["body"] == "This week's edition is now available.")
    }

    @Test("A27 A44: intake refuses both examples as printed, and names the byte at fault")
    func printedExamples() throws {
        let overrides = #"""
            {
              "message":{
                 "token":"bk3RNwTe3H0:CI2k_HHwgIpoDKCIZvvDMExUdFQ3P1...",
                 "android":{
                   "ttl":"86400s",
                   "notification"{
                     "click_action":"OPEN_ACTIVITY_1"
                   }
                 },
                 "apns": { "headers": { "apns-priority": "5", } }
               }
             }
            """#
        try PrintedExample.check(overrides, at: "{\n         \"click_action\"")
        // With the colon it lacks there it has a comma too many further on.
        let colon = overrides.replacing("\"notification\"{", with: "\"notification\":{")
        try PrintedExample.check(colon, at: "} }\n   }")
        let magazine = #"""
            {
              "message":{
                "topic":"subscriber-updates",
                "notification":{
                  "body" : "This week's edition is now available.",
                  "title" : "NewsMagazine.com",
                },
                "android":{ "priority":"normal" }
              }
            }
            """#
        try PrintedExample.check(magazine, at: "},\n    \"android\"")
    }

    // MARK: Collapsing

    @Test("A28 A29 A32 A33 A40 A54: of the stored messages with one collapse key the newest is kept, on each platform")
    func collapseKeys() throws {
        let blocks = [
            "android": #""android":{"collapse_key":"score"}"#,
            "apple": #""apns":{"headers":{"apns-collapse-id":"score"}}"#,
            "web": #""webpush":{"headers":{"Topic":"score"}}"#,
        ]
        for (platform, block) in blocks {
            var scene = try Scene()
            scene.device("t", Device(platform: .named(platform), isOnline: false))
            for goals in 1...3 {
                try scene.send(#"{"data":{"goals":"\#(goals)"},\#(block)}"#, to: ("token", "t"))
            }
            #expect(try scene.dropped("collapsed") == 2)
            scene.device("t", Device(isOnline: true))
            let arrival = try scene.arrival("t")
            #expect((arrival.payload["data"]?.object ?? arrival.payload)["goals"] == "3", "\(platform)")
        }
        for platform in blocks.keys {
            var scene = try Scene()
            scene.device("t", Device(platform: .named(platform), isOnline: false))
            for goals in 1...3 {
                let message = #"{"collapse_key":"score","data":{"goals":"\#(goals)"}}"#
                try scene.send(message, to: ("token", "t"), over: .legacy)
            }
            scene.device("t", Device(isOnline: true))
            #expect(try scene.arrivals("t").count == 1, "\(platform)")
        }
    }

    @Test("A30 A39 A54: without a key every message is kept and delivered")
    func notCollapsible() throws {
        var scene = try Scene()
        scene.device("t", Device(isOnline: false))
        for line in 1...10 { try scene.send(#"{"data":{"line":"\#(line)"}}"#, to: ("token", "t")) }
        scene.device("t", Device(isOnline: true))
        let lines = try scene.arrivals("t").compactMap { $0.payload["line"]?.string }
        #expect(Set(lines) == Set((1...10).map(String.init)))
    }

    @Test("A31: the 101st stored message discards all of them, and the device is told when it is back")
    func hundredStored() throws {
        var scene = try Scene()
        scene.device("t", Device(isOnline: false))
        for _ in 1...100 { try scene.send(Self.data, to: ("token", "t")) }
        #expect(try scene.statistic("stored") == 100)
        #expect(try scene.send(Self.data, to: ("token", "t")).isSent)
        #expect(try scene.statistic("stored") == 0)
        scene.device("t", Device(isOnline: true))
        let event = try scene.arrival("t")
        #expect(event.isDeletedMessages)
        #expect(event.callbacks == ["onDeletedMessages:arrival:"])
        // After which all is as before.
        try scene.send(Self.data, to: ("token", "t"))
        #expect(try scene.arrivals("t").last?.payload["Nick"] == "Mario")
    }

    @Test("A34 A37: notifications collapse by the app's package and ignore their collapse key")
    func notificationsCollapse() throws {
        var scene = try Scene()
        scene.device("t", Device(isOnline: false, package: "com.example.im"))
        for key in ["a", "b", "c"] {
            let message = #"{"notification":{"title":"\#(key)"},"android":{"collapse_key":"\#(key)"}}"#
            try scene.send(message, to: ("token", "t"))
        }
        scene.device("t", Device(appState: .background, isOnline: true))
        let arrival = try scene.arrival("t")
        #expect(arrival.payload["notification"]?.object?["title"] == "c")
        #expect(arrival.payload["collapse_key"] == "com.example.im")
    }

    @Test("A35 A38: four collapse keys are kept at a time; which of five goes is not promised")
    func fourKeys() throws {
        var scene = try Scene()
        scene.device("t", Device(isOnline: false))
        for key in 1...5 {
            let message = #"{"data":{"key":"\#(key)"},"android":{"collapse_key":"k\#(key)"}}"#
            try scene.send(message, to: ("token", "t"))
            #expect(try scene.statistic("stored") == Int64(min(key, 4)))
        }
        scene.device("t", Device(isOnline: true))
        let kept = try scene.arrivals("t").compactMap { $0.payload["key"]?.string }
        #expect(kept.count == 4)
        #expect(Set(kept).isSubset(of: ["1", "2", "3", "4", "5"]))
    }

    @Test("A36: a topic message without a payload is collapsible")
    func emptyTopicMessage() throws {
        for carrier in [Scene.Carrier.v1, .legacy, .xmpp] {
            for (message, target, count) in [
                ("{}", "topic", 1), (#"{"data":{}}"#, "topic", 1), ("{}", "condition", 1),
                (#"{"data":{"a":"b"}}"#, "topic", 3), ("{}", "token", 3),
            ] {
                var scene = try Scene()
                scene.device("t", Device(isOnline: false, topics: ["sync"]))
                let name = ["topic": "sync", "condition": "'sync' in topics"][target] ?? "t"
                for _ in 1...3 {
                    #expect(try scene.send(message, to: (target, name), over: carrier).isSent)
                    scene.advance(ms: 1_000)
                }
                scene.device("t", Device(isOnline: true))
                #expect(try scene.arrivals("t").count == count, "\(message) to a \(target) over \(carrier)")
            }
        }
    }

    // MARK: Priority

    @Test("A41 A42: normal priority is delivered at once in the foreground, and may be late in the background")
    func normalPriority() throws {
        var scene = try Scene()
        scene.device("t", Device(normalDelayMs: 60_000))
        let message = #"{"data":{"a":"b"},"android":{"priority":"normal"}}"#
        try scene.send(message, to: ("token", "t"))
        #expect(try scene.arrivals("t").count == 1)
        scene.device("t", Device(appState: .background))
        try scene.send(message, to: ("token", "t"))
        #expect(try scene.arrivals("t").count == 1)
        scene.advance(ms: 60_000)
        #expect(try scene.arrivals("t").count == 2)
    }

    @Test("A41 A43 A53: high priority wakes a dozing device, normal waits until it is awake")
    func doze() throws {
        var scene = try Scene()
        scene.device("t", Device(appState: .doze))
        try scene.send(#"{"data":{"p":"normal"},"android":{"priority":"normal"}}"#, to: ("token", "t"))
        #expect(try scene.arrivals("t").isEmpty)
        try scene.send(#"{"data":{"p":"high"},"android":{"priority":"high"}}"#, to: ("token", "t"))
        #expect(try scene.arrival("t").payload["p"] == "high")
        #expect(try scene.arrival("t").payload["google.delivered_priority"] == "high")
        scene.advance(ms: 3_600_000)
        scene.device("t", Device(appState: .foreground))
        #expect(try scene.arrivals("t").last?.payload["p"] == "normal")
        #expect(throws: Scene.Rejected.self) {
            try scene.send(#"{"android":{"priority":"urgent"}}"#, to: ("token", "t"))
        }
    }
}
