import FanfareJSON
import Testing

@testable import FCMSimulator

/// Which methods of an Apple app are called, and when.
@Suite struct AppleCallbackTests {
    private static let willPresent = "userNotificationCenter(_:willPresent:)@arrival"
    private static let didReceive = "userNotificationCenter(_:didReceive:)@tap"
    private static let remote = "application(_:didReceiveRemoteNotification:fetchCompletionHandler:)"
    private static let service = "UNNotificationServiceExtension.didReceive(_:withContentHandler:)@arrival"

    struct Row: CustomTestStringConvertible, Sendable {
        var fact: String
        var state: AppState
        var message: String
        var calls: [String]
        var isShown: Bool

        init(_ fact: String, _ state: AppState, _ message: String, _ calls: [String], isShown: Bool) {
            self.fact = fact
            self.state = state
            self.message = message
            self.calls = calls
            self.isShown = isShown
        }

        var testDescription: String { fact }
    }

    private static let alert = #""notification":{"title":"T"}"#
    private static let silent = #""data":{"k":"v"},"apns":{"payload":{"aps":{"content-available":1}}}"#
    private static let both = #"\#(alert),"apns":{"payload":{"aps":{"content-available":1}}}"#
    private static let mutable = #"\#(alert),"apns":{"payload":{"aps":{"mutable-content":1}}}"#

    static let rows = [
        Row("an alert in the foreground", .foreground, alert, [willPresent, didReceive], isShown: true),
        Row(
            "an alert in the background calls nobody before the tap",
            .background,
            alert,
            [didReceive, remote + "@tap"],
            isShown: true
        ),
        Row("an alert after a force quit", .forceQuit, alert, [didReceive, remote + "@tap"], isShown: true),
        Row("an alert in low power", .lowPower, alert, [didReceive, remote + "@tap"], isShown: true),
        Row("a silent push in the foreground", .foreground, silent, [remote + "@arrival"], isShown: false),
        Row("a silent push wakes in the background", .background, silent, [remote + "@arrival"], isShown: false),
        Row("a silent push after a force quit is lost", .forceQuit, silent, [], isShown: false),
        Row("a silent push in low power is lost", .lowPower, silent, [], isShown: false),
        Row(
            "an alert that also wakes",
            .background,
            both,
            [remote + "@arrival", didReceive],
            isShown: true
        ),
        Row(
            "an alert that also wakes, in the foreground",
            .foreground,
            both,
            [willPresent, remote + "@arrival", didReceive],
            isShown: true
        ),
        Row(
            "an alert that cannot wake after a force quit",
            .forceQuit,
            both,
            [didReceive, remote + "@tap"],
            isShown: true
        ),
        Row(
            "mutable content passes through the service extension first",
            .background,
            mutable,
            [service, didReceive, remote + "@tap"],
            isShown: true
        ),
        Row(
            "a badge alone shows nothing that could be tapped",
            .background,
            #""apns":{"payload":{"aps":{"badge":1}}}"#,
            [],
            isShown: false
        ),
        Row(
            "the sender may say that data do not wake",
            .background,
            #""data":{"k":"v"},"apns":{"payload":{"aps":{"content-available":0}}}"#,
            [],
            isShown: false
        ),
    ]

    @Test(arguments: rows) func `a push calls the methods that its options and the app's state ask for`(row: Row) {
        let result = Receiver(.apple, row.state).v1(row.message)
        #expect(result.calls == row.calls)
        #expect((result.shown != nil) == row.isShown)
    }

    @Test func `every callback carries the notification and the data`() {
        let result = Receiver(.apple, .foreground).v1(#"\#(Self.alert),"data":{"k":"v"}"#)
        #expect(result.carries("userNotificationCenter(_:willPresent:)") == [.notification, .data])
    }

    @Test func `an image is loaded by the service extension or not at all`() {
        let receiver = Receiver(.apple)
        let image = #""notification":{"title":"T","image":"https://i"}"#
        #expect(receiver.v1(image).shown?.image == nil)
        #expect(
            receiver.v1(#"\#(image),"apns":{"payload":{"aps":{"mutable-content":1}}}"#).shown?.image == "https://i"
        )
    }
}
