import FanfareJSON
import Testing

@testable import FCMSimulator

/// The extras of the intent, the callbacks and the tray.
@Suite struct AndroidReceptionTests {
    @Test func `data keys stand at the top beside FCM's extras`() {
        let payload = Receiver(.android).v1(
            #""data":{"k":"v"},"android":{"ttl":"90.9s","priority":"high","collapse_key":"c"}"#
        ).payload
        #expect(payload["k"] == "v")
        #expect(payload["from"] == "1234567890")
        #expect(payload["google.message_id"] == "1581529388050227")
        #expect(payload["google.sent_time"]?.number?.int64 == Receiver.nowMs)
        #expect(payload["google.ttl"] == 90)
        #expect(payload["google.original_priority"] == "high")
        #expect(payload["google.delivered_priority"] == "high")
        #expect(payload["google.c.sender.id"] == "1234567890")
        #expect(payload["collapse_key"] == "c")
        #expect(payload["notification"] == nil)
    }

    @Test func `the sent time is the acceptance, and a lowered priority is reported`() {
        var delivery = Receiver(.android).delivery(.legacy(Array(#"{"data":{}}"#.utf8)))
        delivery.timeMs += 60_000
        delivery.priority = .normal
        delivery.accepted.from = "/topics/news"
        let payload = Reception(delivery, app: Devices.Device()).payload
        #expect(payload["google.sent_time"]?.number?.int64 == Receiver.nowMs)
        #expect(payload["google.original_priority"] == "high" && payload["google.delivered_priority"] == "normal")
        #expect(payload["google.ttl"] == 2_419_200)
        #expect(payload["from"] == "/topics/news")
    }

    @Test func `blocks override on their own platform`() {
        let result = Receiver(.android).v1(
            #""data":{"a":"1","b":"2"},"notification":{"title":"T","body":"B"},"#
                + #""android":{"data":{"a":"own"},"notification":{"title":"A","channel_id":"news"}},"#
                + #""apns":{"payload":{"aps":{"badge":1},"x":"y"}},"webpush":{"notification":{"title":"W"}}"#
        )
        #expect(result.payload["a"] == "own")
        // A block's data replaces the common data whole.
        #expect(result.payload["b"] == nil && result.payload["x"] == nil)
        #expect(result.payload["notification"] == .object(["title": "A", "body": "B", "channelId": "news"]))
        #expect(result.badge == nil)
    }

    @Test func `the kind of androidV2 decides what is shown`() {
        let receiver = Receiver(.android)
        let sync = receiver.v1(#""notification":{"title":"T"},"android_v2":{"background_sync":{},"data":{"k":"v"}}"#)
        #expect(sync.shown == nil && sync.calls == ["onMessageReceived@arrival"])
        #expect(sync.payload["k"] == "v" && sync.payload["notification"] == nil)
        let remote = receiver.v1(
            #""notification":{"title":"T"},"android_v2":{"ttl":"5s","remote_notification":{"notification":{"body":"B"}}}"#
        )
        #expect(remote.shown?.title == "T" && remote.shown?.body == "B")
        #expect(remote.payload["google.ttl"] == 5)
    }

    struct OptionRow: CustomTestStringConvertible, Sendable {
        var key: String
        var options: String
        var value: String
        var testDescription: String { key }
    }

    @Test(arguments: [
        OptionRow(key: "collapse_key", options: #","collapse_key":"theirs""#, value: "theirs"),
        OptionRow(key: "priority", options: #","priority":"high""#, value: "high"),
        OptionRow(key: "priority", options: "", value: "normal"),
        OptionRow(key: "time_to_live", options: #","time_to_live":60"#, value: "60"),
        OptionRow(key: "content_available", options: #","content_available":true"#, value: "true"),
        OptionRow(key: "restricted_package_name", options: #","restricted_package_name":"p""#, value: "p"),
        OptionRow(key: "restricted_package_name", options: "", value: "mine"),
        OptionRow(key: "dry_run", options: #","dry_run":false"#, value: "false"),
        OptionRow(key: "colour", options: #","collapse_key":"c""#, value: "mine"),
    ]) func `a data key named like an option arrives with FCM's value`(row: OptionRow) {
        let message = #""data":{"\#(row.key)":"mine"}\#(row.options)"#
        #expect(Receiver(.android).legacy(message).payload[row.key]?.string == row.value)
        #expect(Receiver(.apple).legacy(message).payload[row.key]?.string == row.value)
        #expect(Receiver(.web).legacy(message).payload["data"]?.object?[row.key]?.string == row.value)
    }

    @Test func `plain text and v1 give the same collapse key`() {
        let receiver = Receiver(.android)
        let plain = receiver.plainText("data.collapse_key=mine&data.k=a%2Bb&collapse_key=theirs&time_to_live=7")
        #expect(plain.payload["collapse_key"] == "theirs" && plain.payload["k"] == "a+b")
        #expect(plain.payload["google.ttl"] == 7)
        let v1 = receiver.v1(#""data":{"collapse_key":"mine"},"android":{"collapse_key":"theirs"}"#)
        #expect(v1.payload["collapse_key"] == "theirs")
    }

    @Test func `a notification collapses by its package and ignores the key`() {
        var receiver = Receiver(.android)
        receiver.package = "com.example.app"
        let shown = #""notification":{"title":"T"},"collapse_key":"c""#
        #expect(receiver.legacy(shown).payload["collapse_key"] == "com.example.app")
        #expect(receiver.legacy(#""data":{"k":"v"},"collapse_key":"c""#).payload["collapse_key"] == "c")
        #expect(receiver.legacy(#""data":{"k":"v"}"#).payload["collapse_key"] == nil)
    }

    struct CallRow: CustomTestStringConvertible, Sendable {
        var fact: String
        var state: AppState
        var message: String
        var calls: [String]

        var testDescription: String { fact }
    }

    private static let both = #""notification":{"title":"T"},"data":{"k":"v"}"#

    @Test(arguments: [
        CallRow(
            fact: "in the foreground one callback gets both",
            state: .foreground,
            message: both,
            calls: ["onMessageReceived@arrival"]
        ),
        CallRow(
            fact: "in the background the tray shows it, and the tap brings the data",
            state: .background,
            message: both,
            calls: ["tray@arrival", "intent@tap"]
        ),
        CallRow(fact: "Doze is the background", state: .doze, message: both, calls: ["tray@arrival", "intent@tap"]),
        CallRow(
            fact: "data reach the callback in the background",
            state: .background,
            message: #""data":{"k":"v"}"#,
            calls: ["onMessageReceived@arrival"]
        ),
        CallRow(
            fact: "data reach the callback in the foreground",
            state: .foreground,
            message: #""data":{"k":"v"}"#,
            calls: ["onMessageReceived@arrival"]
        ),
    ]) func `a message calls the app's method or shows in the tray`(row: CallRow) {
        #expect(Receiver(.android, row.state).v1(row.message).calls == row.calls)
        #expect(Receiver(.android, row.state).legacy(row.message).calls == row.calls)
    }

    @Test func `a callback carries its parts of the message`() {
        let foreground = Receiver(.android, .foreground).v1(Self.both)
        #expect(foreground.carries("onMessageReceived") == [.notification, .data])
        #expect(foreground.shown == nil)
        let background = Receiver(.android).v1(Self.both)
        #expect(background.carries("tray") == [.notification])
        #expect(background.carries("intent") == [.data])
        #expect(background.callbacks.last?.opens == "android.intent.action.MAIN")
        let action = Receiver(.android).legacy(#""notification":{"title":"T","click_action":"OPEN_ACTIVITY_1"}"#)
        #expect(action.callbacks.last?.opens == "OPEN_ACTIVITY_1")
    }

    @Test func `discarded messages are one event with their count`() throws {
        var receiver = Receiver(.android)
        receiver.keep(v1: Self.both)
        var delivery = receiver.delivery(.none, id: "")
        delivery.event = .deletedMessages(count: 101)
        let result = Reception(delivery, app: Devices.Device())
        #expect(result.calls == ["onDeletedMessages@arrival"])
        #expect(result.payload["message_type"] == "deleted_messages")
        #expect(result.payload["total_deleted"] == "101")
        #expect(result.shown == nil)
    }

    @Test func `legacy names become v1 names, and Apple's keys are left out`() {
        let shown = Receiver(.android).legacy(
            #""notification":{"title":"T","subtitle":"S","badge":"4","android_channel_id":"c","click_action":"A","#
                + ##""body_loc_key":"K","body_loc_args":"[\"x\"]","color":"#ff0000"}"##
        ).payload["notification"]
        let wanted: JSONObject = [
            "title": "T", "color": "#ff0000", "clickAction": "A", "channelId": "c", "bodyLocKey": "K",
            "bodyLocArgs": .array(["x"]),
        ]
        #expect(shown == .object(wanted))
    }
}
