import FCMSimulator
import FCMWire
import FanfareJSON
import FanfareModel
import Testing

/// Data, and the keys of a notification on each platform.
extension LegacyHTTPReference {
    /// Sends a legacy message to one device of each platform, all in the background.
    static func toEach(_ message: String) throws -> (android: Arrival, apple: Arrival, web: Arrival) {
        var scene = try Scene()
        for platform in ["android", "apple", "web"] {
            scene.device(platform, Device(platform: .named(platform), appState: .background))
            #expect(try scene.send(message, to: ("token", platform), over: .legacy).isSent)
        }
        return (try scene.arrival("android"), try scene.arrival("apple"), try scene.arrival("web"))
    }

    static func notification(_ members: String) -> String { #"{"notification":{\#(members)}}"# }

    @Test("L23: data are custom fields of the push on Apple, and extras of the intent on Android")
    func data() throws {
        let (android, apple, _) = try Self.toEach(Self.score)
        #expect(android.payload["score"] == "3x1")
        #expect(apple.payload["score"] == "3x1")
    }

    @Test("L24: reserved data keys are refused; an option's name may be used, and arrives with FCM's value")
    func dataKeys() throws {
        var scene = try Scene()
        for key in ["from", "message_type", "google", "googleX", "gcm", "gcm.y"] {
            let message = #"{"data":{"\#(key)":"1"}}"#
            for carrier in [Scene.Carrier.legacy, .plainText, .xmpp] {
                #expect(throws: Scene.Rejected.self) { try scene.send(message, to: ("token", "t"), over: carrier) }
            }
            #expect(scene.raw(#"{"to":"t","data":{"\#(key)":"1"}}"#, over: .legacy).failure == Self.fixMessage)
            #expect(scene.reply.text.contains("InvalidDataKey"))
            #expect(scene.raw("registration_id=t&data.\(key)=1", over: .plainText).failure == Self.fixMessage)
            #expect(scene.reply.text == "Error=InvalidDataKey\n")
        }
        let message = #"{"collapse_key":"real","data":{"collapse_key":"mine"}}"#
        #expect(try scene.send(message, to: ("token", "t"), over: .legacy).isSent)
        #expect(try scene.arrival("t").payload["collapse_key"] == "real")
    }

    @Test("L25: data values that are no strings arrive as strings")
    func values() throws {
        let (android, apple, web) = try Self.toEach(#"{"data":{"n":7,"b":true,"o":{"k":[1]}}}"#)
        for data in [android.payload, apple.payload, web.payload["data"]?.object ?? JSONObject()] {
            #expect(["n", "b", "o"].map { data[$0] } == ["7", "true", #"{"k":[1]}"#])
        }
    }

    @Test("L26: a notification and the options of table 1 make an alert, data and content_available a silent push")
    func alertOrSilent() throws {
        let shown = try Self.toEach(Self.notification(#""title":"t""#)).apple
        #expect(shown.headers["apns-push-type"] == "alert")
        #expect(try Self.toEach(#"{"content_available":true}"#).apple.headers["apns-push-type"] == "background")
    }

    // MARK: Table 2a

    @Test("L27: Apple: title, subtitle, body, sound, badge and click_action by their own names in APNs")
    func apple() throws {
        let message = Self.notification(
            #""title":"T","subtitle":"S","body":"B","sound":"ping.aiff","badge":"3","click_action":"OPEN""#
        )
        let arrival = try Self.toEach(message).apple
        #expect(arrival.aps["alert"]?.object == ["title": "T", "subtitle": "S", "body": "B"])
        #expect(arrival.aps["sound"] == "ping.aiff")
        #expect(arrival.aps["badge"] == 3)
        #expect(arrival.aps["category"] == "OPEN")
        // The XMPP reference has a dictionary for critical alerts; it is taken here as well.
        let critical = Self.notification(#""title":"T","sound":{"critical":1,"name":"alarm.aiff","volume":0.5}"#)
        #expect(try Self.toEach(critical).apple.aps["sound"]?.object?["name"] == "alarm.aiff")
    }

    @Test("L28: without a badge the number stays, and 0 removes it")
    func badge() throws {
        var scene = try Scene()
        scene.device("t", Device(platform: .apple, appState: .background))
        for badge in [#""badge":"3""#, #""title":"t""#, #""badge":"0""#] {
            try scene.send(Self.notification(badge), to: ("token", "t"), over: .legacy)
        }
        #expect(try scene.arrivals("t").map(\.badge) == [3, 3, 0])
    }

    @Test("L29: Apple: texts from the app's resources, with their arguments as JSON in a string")
    func localizedApple() throws {
        let message = Self.notification(
            #"""
            "body_loc_key":"GOAL","body_loc_args":"[\"Mario\",\"3-0\"]","title_loc_key":"MATCH","title_loc_args":"[\"FC\"]"
            """#
        )
        let alert = try Self.toEach(message).apple.aps["alert"]?.object
        #expect(alert?["loc-key"] == "GOAL")
        #expect(alert?["loc-args"] == .array(["Mario", "3-0"]))
        #expect(alert?["title-loc-key"] == "MATCH")
        #expect(alert?["title-loc-args"] == .array(["FC"]))
    }

    // MARK: Table 2b

    @Test("L30: Android: title, body, icon, sound, color, tag and click_action")
    func android() throws {
        let message = Self.notification(
            ##""title":"T","body":"B","icon":"myicon","sound":"default","color":"#ff0000","tag":"g","click_action":"OPEN""##
        )
        let arrival = try Self.toEach(message).android
        let shown = try #require(arrival.notifications.first)
        #expect(shown["title"] == "T")
        #expect(shown["body"] == "B")
        #expect(shown["icon"] == "myicon")
        #expect(shown["tag"] == "g")
        let own = arrival.payload["notification"]?.object
        #expect(own?["sound"] == "default")
        #expect(own?["color"] == "#ff0000")
        #expect(arrival.opens == "OPEN")
    }

    @Test("L31: a missing or unknown channel and a missing icon become the manifest's")
    func channel() throws {
        var scene = try Scene()
        scene.device("t", Device(appState: .background, channels: ["news"]))
        for channel in [#""android_channel_id":"news","#, #""android_channel_id":"other","#, ""] {
            try scene.send(Self.notification(channel + #""title":"t""#), to: ("token", "t"), over: .legacy)
        }
        let shown = try scene.arrivals("t").compactMap { $0.notifications.last }
        #expect(shown.map { $0["channel"] } == ["news", "default", "default"])
        #expect(shown.map { $0["icon"] } == ["default", "default", "default"])
    }

    @Test("L32: a notification replaces the shown one with its tag; without a tag each is added")
    func tag() throws {
        var scene = try Scene()
        scene.device("t", Device(appState: .background))
        for (title, tag) in [("1", "score"), ("2", "score"), ("3", ""), ("4", "")] {
            let part = tag.isEmpty ? "" : #","tag":"\#(tag)""#
            try scene.send(Self.notification(#""title":"\#(title)"\#(part)"#), to: ("token", "t"), over: .legacy)
        }
        #expect(try scene.arrivals("t").last?.shown == ["2", "3", "4"])
    }

    @Test("L33: Android: texts from string resources, with their arguments")
    func localizedAndroid() throws {
        let message = Self.notification(
            #"""
            "body_loc_key":"goal","body_loc_args":"[\"Mario\"]","title_loc_key":"match","title_loc_args":"[\"FC\"]"
            """#
        )
        let own = try Self.toEach(message).android.payload["notification"]?.object
        #expect(own?["bodyLocKey"] == "goal")
        #expect(own?["bodyLocArgs"] == .array(["Mario"]))
        #expect(own?["titleLocKey"] == "match")
        #expect(own?["titleLocArgs"] == .array(["FC"]))
    }

    // MARK: Table 2c

    @Test("L34 L35 X46: web: title, body, an icon's address and the page that a click opens, over HTTPS only")
    func web() throws {
        let message = Self.notification(
            #""title":"T","body":"B","icon":"https://example.com/i.png","click_action":"https://example.com/""#
        )
        let arrival = try Self.toEach(message).web
        let shown = try #require(arrival.notifications.first)
        #expect(shown["title"] == "T")
        #expect(shown["body"] == "B")
        #expect(shown["icon"] == "https://example.com/i.png")
        #expect(arrival.opens == "https://example.com/")
        // Over legacy these fields have other meanings on other platforms, so no other address is refused; the browser
        // gets only what is HTTPS, or relative to its page.
        var scene = try Scene()
        scene.device("w", Device(platform: .web, appState: .background))
        for carrier in [Scene.Carrier.legacy, .xmpp, .v1] {
            for (address, isKept) in [
                ("http://example.com/", false), ("javascript:alert(1)", false), ("HTTPS://example.com/", true),
            ] {
                let fields = #""title":"t","icon":"\#(address)","click_action":"\#(address)""#
                try scene.send(Self.notification(fields), to: ("token", "w"), over: carrier, as: .legacy)
                let web = try #require(try scene.arrivals("w").last)
                #expect(web.opens == (isKept ? address : nil), "\(address) over \(carrier)")
                let icon = web.notifications.last?["icon"]
                #expect(icon == (isKept ? .string(address) : nil), "\(address) over \(carrier)")
            }
        }
        try scene.send(Self.notification(#""title":"t","icon":"/i.png""#), to: ("token", "w"), over: .legacy)
        #expect(try scene.arrivals("w").last?.notifications.last?["icon"] == "/i.png")
        // A message in the form of v1 says for whom an address is: for the web it must be HTTPS over legacy too.
        let icon = #"{"notification":{"title":"t"},"webpush":{"notification":{"icon":"http://example.com/i.png"}}}"#
        #expect(throws: TranslationError.self) { try scene.send(icon, to: ("token", "w"), over: .legacy, as: .v1) }
        // On v1, where the field is the web's alone, another address is refused by both sides.
        let link = #""webpush":{"fcm_options":{"link":"http://example.com/"}}"#
        #expect(throws: Scene.Rejected.self) { try scene.send("{\(link)}", to: ("token", "t")) }
        #expect(scene.raw(#"{"message":{"token":"t",\#(link)}}"#).failure == Self.fixMessage)
    }
}
