import FCMSimulator
import FanfareJSON
import FanfareModel
import FanfareReceiving
import Testing

/// Tables 2a, 2b and 2c: the keys of a notification on each platform.
extension XMPPReference {
    /// Sends notifications, in order, to one device in the background.
    static func shown(
        _ platform: Device.Platform,
        _ members: String...,
        channels: [String]? = nil
    ) throws -> [Arrival] {
        var scene = try Scene()
        scene.device("t", Device(platform: platform, appState: .background, channels: channels))
        for member in members {
            #expect(try scene.send(#"{"notification":{\#(member)}}"#, to: ("token", "t"), over: .xmpp).isSent)
        }
        return try scene.arrivals("t")
    }

    @Test("X27 X28 X31 X32: Apple: title, subtitle, body, and click_action as category")
    func appleAlert() throws {
        let arrival = try #require(
            try Self.shown(.apple, #""title":"T","subtitle":"S","body":"B","click_action":"OPEN""#).first
        )
        #expect(arrival.aps["alert"]?.object == ["title": "T", "subtitle": "S", "body": "B"])
        #expect(arrival.aps["category"] == "OPEN")
    }

    @Test("X29: Apple: a sound by its file's name, or a critical one as a dictionary")
    func appleSound() throws {
        let critical = #""sound":{"critical":1,"name":"alarm.aiff","volume":0.5}"#
        let arrivals = try Self.shown(.apple, #""sound":"ping.aiff""#, critical)
        let sounds = try arrivals.map {
            try ReceivedNotification(json: JSONValue.object($0.payload).jsonBytes).sound
        }
        #expect(sounds == [.named("ping.aiff"), .adjusted(name: "alarm.aiff", volume: 0.5, isCritical: true)])
    }

    @Test("X30: on Apple without a badge the number stays, and 0 removes it")
    func appleBadge() throws {
        let arrivals = try Self.shown(.apple, #""badge":"3""#, #""title":"t""#, #""badge":"0""#)
        #expect(arrivals.map(\.badge) == [3, 3, 0])
    }

    @Test("X33 X34 X35 X36: Apple: loc-key, loc-args, title-loc-key and title-loc-args")
    func appleLocalized() throws {
        let arrivals = try Self.shown(
            .apple,
            #"""
            "body_loc_key":"GOAL","body_loc_args":"[\"Mario\"]","title_loc_key":"MATCH","title_loc_args":"[\"FC\",\"3\"]"
            """#
        )
        let alert = try #require(arrivals.first?.aps["alert"]?.object)
        #expect(alert["loc-key"] == "GOAL")
        #expect(alert["loc-args"] == .array(["Mario"]))
        #expect(alert["title-loc-key"] == "MATCH")
        #expect(alert["title-loc-args"] == .array(["FC", "3"]))
    }

    @Test("X37 X39 X40 X42 X43 X44: Android: texts, icon, sound, color, a tap's activity, texts from resources")
    func android() throws {
        let arrivals = try Self.shown(
            .android,
            ##"""
            "title":"T","body":"B","icon":"myicon","sound":"default","color":"#00ff00","click_action":"OPEN"
            """##,
            #"""
            "body_loc_key":"goal","body_loc_args":"[\"M\"]","title_loc_key":"match","title_loc_args":"[\"F\"]"
            """#
        )
        let first = try #require(arrivals.first)
        #expect(first.shown == ["T"])
        #expect(first.notifications.first?["icon"] == "myicon")
        #expect(first.opens == "OPEN")
        let own = first.payload["notification"]?.object
        #expect(own?["sound"] == "default")
        #expect(own?["color"] == "#00ff00")
        let localized = try #require(arrivals.last?.payload["notification"]?.object)
        #expect(["bodyLocKey", "titleLocKey"].map { localized[$0] } == ["goal", "match"])
        #expect(["bodyLocArgs", "titleLocArgs"].map { localized[$0] } == [.array(["M"]), .array(["F"])])
        #expect(arrivals.last?.notifications.last?["icon"] == "default")
    }

    @Test("X38: on Android a channel that the app did not create becomes the manifest's")
    func androidChannel() throws {
        let arrivals = try Self.shown(
            .android,
            #""android_channel_id":"news","title":"1""#,
            #""android_channel_id":"other","title":"2""#,
            #""title":"3""#,
            channels: ["news"]
        )
        #expect(arrivals.compactMap { $0.notifications.last?["channel"] } == ["news", "default", "default"])
    }

    @Test("X41: on Android a notification replaces the shown one with its tag; without a tag each is added")
    func androidTag() throws {
        let arrivals = try Self.shown(
            .android,
            #""title":"1","tag":"g""#,
            #""title":"2","tag":"g""#,
            #""title":"3""#,
            #""title":"4""#
        )
        #expect(arrivals.last?.shown == ["2", "3", "4"])
    }

    @Test("X45: web: title, body, an icon's address and the page that a click opens")
    func web() throws {
        let arrival = try #require(
            try Self.shown(
                .web,
                #"""
                "title":"T","body":"B","icon":"https://example.com/i.png","click_action":"https://example.com/"
                """#
            ).first
        )
        #expect(arrival.shown == ["T"])
        #expect(arrival.notifications.first?["icon"] == "https://example.com/i.png")
        #expect(arrival.opens == "https://example.com/")
    }
}
