import FCMSimulator
import FanfareJSON
import FanfareModel
import FanfareReceiving
import Testing

/// The scenario of the document "Receive messages on Apple platforms". The page "Statements" numbers what it says.
@Suite struct ReceivingOnApple {
    static let willPresent = "userNotificationCenter(_:willPresent:):arrival:notification+data"
    static let didReceive = "userNotificationCenter(_:didReceive:):tap:notification+data"
    static let didReceiveRemote = "application(_:didReceiveRemoteNotification:fetchCompletionHandler:)"
    static let match = #"""
        {"notification":{"title":"Portugal vs. Denmark","body":"great match!"},
         "apns":{"payload":{"aps":{"badge":1}}},"data":{"customKey":"customValue"}}
        """#
    static let silent = #"{"data":{"score":"3x1"},"apns":{"payload":{"aps":{"content-available":1}}}}"#

    /// What an app in that state makes of one v1 message.
    static func receive(_ message: String, _ state: String) throws -> (Arrival, ReceivedNotification, id: String) {
        var scene = try Scene()
        scene.device("t", Device(platform: .apple, appState: .named(state), bundle: "com.example.app"))
        let id = try #require(try scene.send(message, to: ("token", "t")).messageID)
        let arrival = try scene.arrival("t")
        let received = try ReceivedNotification(json: JSONValue.object(arrival.payload).jsonBytes)
        return (arrival, received, id)
    }

    @Test("R1 R2: every message for an Apple app goes through APNs, whatever it holds and however it was sent")
    func everythingThroughAPNs() throws {
        var scene = try Scene()
        scene.device("t", Device(platform: .apple, bundle: "com.example.app", topics: ["news"]))
        let group = try scene.makeGroup("n", ["t"])
        for message in [#"{"data":{"a":"b"}}"#, #"{"notification":{"title":"t"}}"#] {
            for carrier in [Scene.Carrier.v1, .legacy, .xmpp] {
                for target in [("token", "t"), ("topic", "news"), ("group", group)] {
                    _ = try scene.send(message, to: target, over: carrier)
                    scene.advance(ms: 1_000)
                }
            }
        }
        try scene.send(#"{"data":{"a":"b"}}"#, to: ("token", "t"), over: .plainText)
        let arrivals = try scene.arrivals("t")
        #expect(arrivals.count == 19)
        for arrival in arrivals {
            #expect(arrival.headers["apns-topic"] == "com.example.app")
            #expect(arrival.headers["apns-push-type"] != nil)
            #expect(arrival.headers["apns-expiration"] != nil)
            #expect(!arrival.aps.isEmpty)
        }
    }

    @Test("R4: in the foreground willPresent gets the notification and its userInfo")
    func inFront() throws {
        let (arrival, received, _) = try Self.receive(Self.match, "foreground")
        #expect(arrival.callbacks.first == Self.willPresent)
        #expect(received.alert?.title == "Portugal vs. Denmark")
        #expect(received["customKey"] == "customValue")
    }

    @Test("R6 R13: after the tap didReceive gets the notification with FCM's message id")
    func afterTheTap() throws {
        let (arrival, received, id) = try Self.receive(Self.match, "background")
        #expect(arrival.shown == ["Portugal vs. Denmark"])
        #expect(arrival.callbacks.first == Self.didReceive)
        #expect(id == "projects/demo/messages/" + (received.messageID ?? ""))
        #expect(arrival.payload["gcm.message_id"]?.string == received.messageID)
    }

    @Test("R7: click_action of a legacy message, category of APNs: the same value names the actions")
    func customActions() throws {
        let (_, received, _) = try Self.receive(
            #"{"apns":{"payload":{"aps":{"alert":"t","category":"NEW_MESSAGE_CATEGORY"}}}}"#,
            "background"
        )
        #expect(received.category == "NEW_MESSAGE_CATEGORY")
        var scene = try Scene()
        scene.device("t", Device(platform: .apple))
        for carrier in [Scene.Carrier.legacy, .xmpp, .v1] {
            let message = #"{"notification":{"title":"t","click_action":"NEW_MESSAGE_CATEGORY"}}"#
            try scene.send(message, to: ("token", "t"), over: carrier, as: .legacy)
            let payload = try #require(try scene.arrivals("t").last?.payload)
            let received = try ReceivedNotification(json: JSONValue.object(payload).jsonBytes)
            #expect(received.category == "NEW_MESSAGE_CATEGORY", "\(carrier)")
        }
    }

    @Test("R10 R11: content-available alone is silent: it wakes the app, and only one method gets it")
    func silentPush() throws {
        for state in ["background", "foreground"] {
            let (arrival, received, _) = try Self.receive(Self.silent, state)
            #expect(arrival.callbacks == [Self.didReceiveRemote + ":arrival:data"])
            #expect(arrival.shown.isEmpty)
            #expect(received.isSilent)
            #expect(received["score"] == "3x1")
            #expect(arrival.headers["apns-push-type"] == "background")
            #expect(arrival.headers["apns-priority"] == "5")
        }
        // The legacy spelling is another, and the push the same.
        var scene = try Scene()
        scene.device("t", Device(platform: .apple))
        try scene.send(#"{"content_available":true,"data":{"score":"3x1"}}"#, to: ("token", "t"), over: .legacy)
        #expect(try scene.arrival("t").aps == ["content-available": 1])
        // Urgent and silent at once is refused, by both sides.
        let urgent = #""data":{"a":"b"},"apns":{"headers":{"apns-priority":"10"}}"#
        #expect(throws: Scene.Rejected.self) { try scene.send("{\(urgent)}", to: ("token", "t")) }
        #expect(scene.raw(#"{"message":{"token":"t",\#(urgent)}}"#).failure == "INVALID_ARGUMENT fix_message")
    }

    @Test("R12: in the background that method is called for a notification only after the tap")
    func notificationInBackground() throws {
        let (arrival, received, _) = try Self.receive(Self.match, "background")
        #expect(arrival.callbacks == [Self.didReceive, Self.didReceiveRemote + ":tap:notification+data"])
        #expect(!received.isSilent)
        // In front it is not called at all.
        let front = try Self.receive(Self.match, "foreground").0
        #expect(front.callbacks == [Self.willPresent, Self.didReceive])
    }

    @Test("R16: a silent push may be lost, and its sender never learns of it")
    func notGuaranteed() throws {
        for state in ["low_power", "force_quit"] {
            var scene = try Scene()
            scene.device("t", Device(platform: .apple, appState: .named(state)))
            #expect(try scene.send(Self.silent, to: ("token", "t")).isSent)
            #expect(try scene.arrivals("t").isEmpty)
            #expect(try scene.dropped("silent") == 1)
            // What is to be seen is shown all the same.
            #expect(try scene.send(Self.match, to: ("token", "t")).isSent)
            #expect(try scene.arrival("t").shown == ["Portugal vs. Denmark"])
        }
    }

    @Test("R17: the payload of a notification, key by key")
    func payload() throws {
        let (arrival, received, _) = try Self.receive(Self.match, "background")
        let text: JSONObject = ["title": "Portugal vs. Denmark", "body": "great match!"]
        #expect(arrival.aps == ["badge": 1, "alert": .object(text)])
        #expect(arrival.payload["customKey"] == "customValue")
        #expect(received.alert?.body == "great match!")
        #expect(received.badge == 1)
        #expect(received.customKeys == ["customKey": "customValue"])
        #expect(arrival.badge == 1)
        // As a dictionary, which is how the app gets it.
        let alert: [AnyHashable: Any] = ["title": "Portugal vs. Denmark", "body": "great match!"]
        let userInfo: [AnyHashable: Any] = [
            "aps": ["alert": alert, "badge": 1] as [AnyHashable: Any], "customKey": "customValue",
        ]
        let fromDictionary = ReceivedNotification(userInfo: userInfo)
        #expect(fromDictionary.alert == received.alert)
        #expect(fromDictionary.badge == 1)
        #expect(fromDictionary["customKey"] == "customValue")
    }

    @Test("R17: intake refuses the payload as printed, and names the byte at fault")
    func printedExample() throws {
        let printed = #"""
              {
                "aps" : {
                  "alert" : {
                    "body" : "great match!",
                    "title" : "Portugal vs. Denmark",
                  },
                  "badge" : 1,
                },
                "customKey" : "customValue"
              }
            """#
        try PrintedExample.check(printed, at: "},\n      \"badge\"")
        let once = printed.replacing("Denmark\",", with: "Denmark\"")
        try PrintedExample.check(once, at: "},\n    \"customKey\"")
        #expect(throws: JSONError.self) { try ReceivedNotification(json: Array(printed.utf8)) }
    }
}
