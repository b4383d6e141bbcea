import FanfareJSON
import FanfareModel
import FanfareReceiving
import Testing

/// The scenario of the document "About FCM messages". The page "Statements" numbers what it says.
@Suite struct AboutMessages {
    /// The token of the document's examples.
    static let token = "bk3RNwTe3H0:CI2k_HHwgIpoDKCIZvvDMExUdFQ3P1..."

    static let notification = #"{"notification":{"title":"Portugal vs. Denmark","body":"great match!"}}"#
    static let data = #"{"data":{"Nick":"Mario","body":"great match!","Room":"PortugalVSDenmark"}}"#
    static let both = #"""
        {"notification":{"title":"Portugal vs. Denmark","body":"great match!"},
         "data":{"Nick":"Mario","Room":"PortugalVSDenmark"}}
        """#

    /// A data message whose one value has so many bytes that keys and values come to `size`.
    static func data(ofSize size: Int) -> String {
        #"{"data":{"k":"\#(String(repeating: "x", count: size - 1))"}}"#
    }

    // MARK: Kinds of messages

    @Test("A1 A2 A6 A7 A12 A13: the SDK shows a notification in the background and calls the app in the foreground")
    func notificationMessage() throws {
        var scene = try Scene()
        scene.device(Self.token, Device(appState: .background))
        #expect(try scene.send(Self.notification, to: ("token", Self.token)).isSent)
        let shown = try scene.arrival(Self.token)
        #expect(shown.shown == ["Portugal vs. Denmark"])
        #expect(shown.notifications.first?["body"] == "great match!")
        #expect(shown.callbacks.first == "tray:arrival:notification")

        scene.device(Self.token, Device(appState: .foreground))
        try scene.send(Self.notification, to: ("token", Self.token))
        let called = try #require(try scene.arrivals(Self.token).last)
        #expect(called.callbacks == ["onMessageReceived:arrival:notification"])
        // Nothing new on the screen: the app may show it, or not.
        #expect(called.shown == shown.shown)
    }

    @Test("A1 A6 A8 A14: a data message calls the app, in the background too, and shows nothing")
    func dataMessage() throws {
        var scene = try Scene()
        for state in ["foreground", "background"] {
            scene.device(Self.token, Device(appState: .named(state)))
            #expect(try scene.send(Self.data, to: ("token", Self.token)).isSent)
            let arrival = try #require(try scene.arrivals(Self.token).last)
            #expect(arrival.callbacks == ["onMessageReceived:arrival:data"])
            #expect(arrival.shown.isEmpty)
            let own = ["Nick", "body", "Room"].map { arrival.payload[$0] }
            #expect(own == ["Mario", "great match!", "PortugalVSDenmark"])
        }
    }

    @Test("A15: common data reach the app's callback on every platform")
    func commonData() throws {
        var scene = try Scene()
        scene.device("apple", Device(platform: .apple))
        scene.device("web", Device(platform: .web))
        for token in ["android", "apple", "web"] { try scene.send(Self.data, to: ("token", token)) }
        #expect(try scene.arrival("android").payload["Nick"] == "Mario")
        #expect(try scene.arrival("apple").payload["Nick"] == "Mario")
        #expect(try scene.arrival("web").payload["data"]?.object?["Nick"] == "Mario")
        let callbacks = try ["android", "apple", "web"].map { try scene.arrival($0).callbacks }
        let apple = "application(_:didReceiveRemoteNotification:fetchCompletionHandler:):arrival:data"
        #expect(callbacks == [["onMessageReceived:arrival:data"], [apple], ["onMessage:arrival:data"]])
    }

    @Test("A3 A10 A17 A18 A19: a notification with data comes by tray and tap in the background, else in one callback")
    func notificationWithData() throws {
        var scene = try Scene()
        scene.device(Self.token, Device(appState: .background))
        #expect(try scene.send(Self.both, to: ("token", Self.token)).isSent)
        let background = try scene.arrival(Self.token)
        #expect(background.callbacks == ["tray:arrival:notification", "intent:tap:data"])
        #expect(background.shown == ["Portugal vs. Denmark"])

        scene.device(Self.token, Device(appState: .foreground))
        try scene.send(Self.both, to: ("token", Self.token))
        let foreground = try #require(try scene.arrivals(Self.token).last)
        #expect(foreground.callbacks == ["onMessageReceived:arrival:notification+data"])
        #expect(foreground.payload["notification"]?.object?["title"] == "Portugal vs. Denmark")
        #expect(foreground.payload["Room"] == "PortugalVSDenmark")
    }

    @Test("A2 A8: a notification's unknown keys and data's reserved keys are refused, other data keys are accepted")
    func keys() throws {
        var scene = try Scene()
        #expect(throws: Scene.Rejected(reason: "message.notification.colour: unknown field")) {
            try scene.send(#"{"notification":{"colour":"red"}}"#, to: ("token", "t"))
        }
        #expect(scene.raw(#"{"message":{"token":"t","notification":{"colour":"red"}}}"#).failure == Self.fixMessage)
        for key in ["from", "message_type", "google.x", "gcm.y"] {
            #expect(throws: Scene.Rejected.self) {
                try scene.send(#"{"data":{"\#(key)":"1"}}"#, to: ("token", "t"))
            }
            #expect(scene.raw(#"{"message":{"token":"t","data":{"\#(key)":"1"}}}"#).failure == Self.fixMessage)
        }
        #expect(try scene.send(#"{"data":{"Gcm":"1","fr om":"2","любой":"3"}}"#, to: ("token", "t")).isSent)
    }

    @Test("A4: notifications and data hold 4,096 bytes; more is refused")
    func payloadLimit() throws {
        var scene = try Scene()
        let title = #"{"notification":{"body":"\#(String(repeating: "x", count: 3_996))"}}"#
        #expect(try scene.send(title, to: ("token", "t")).isSent)
        for size in [4_000, 4_096] { #expect(try scene.send(Self.data(ofSize: size), to: ("token", "t")).isSent) }
        #expect(throws: Scene.Rejected(reason: "message.data: 4097 bytes, at most 4096")) {
            try scene.send(Self.data(ofSize: 4_097), to: ("token", "t"))
        }
        let body = #"{"message":{"token":"t","data":{"k":"\#(String(repeating: "x", count: 4_096))"}}}"#
        #expect(scene.raw(body).failure == Self.fixMessage)
        #expect(scene.reply.text.contains("Message is too large"))
    }

    @Test("A16: a data value arrives byte for byte")
    func opaqueData() throws {
        var scene = try Scene()
        let secret = "AAECAwQF+/8=\u{1}\u{7F}é😀\\\"\n"
        let message = JSONValue.object(["data": .object(["sealed": .string(secret)])]).jsonText
        scene.device("apple", Device(platform: .apple))
        for token in ["android", "apple"] {
            try scene.send(message, to: ("token", token))
            #expect(try scene.arrival(token).payload["sealed"] == .string(secret))
        }
    }

    static let fixMessage = "INVALID_ARGUMENT fix_message"
}
