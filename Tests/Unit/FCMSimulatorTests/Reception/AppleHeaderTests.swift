import FanfareJSON
import Testing

@testable import FCMSimulator

/// The headers that FCM sends to APNs.
@Suite struct AppleHeaderTests {
    static let nowSeconds = Receiver.nowMs / 1_000
    private static let shown = #""notification":{"title":"T"}"#
    private static let data = #""data":{"k":"v"}"#

    struct Row: CustomTestStringConvertible, Sendable {
        var fact: String
        var message: String
        var name: String
        /// nil when the header may not be there.
        var value: String?

        init(_ fact: String, _ message: String, _ name: String, _ value: String?) {
            self.fact = fact
            self.message = message
            self.name = name
            self.value = value
        }

        var testDescription: String { fact }
    }

    static let legacyRows = [
        Row("priority normal is 5", #"\#(shown),"priority":"normal""#, "apns-priority", "5"),
        Row("priority high is 10", #"\#(shown),"priority":"high""#, "apns-priority", "10"),
        Row("a notification is high by default", shown, "apns-priority", "10"),
        Row("data are normal by default", data, "apns-priority", "5"),
        Row("data alone must be 5", #"\#(data),"priority":"high""#, "apns-priority", "5"),
        Row("time_to_live counts from now", #"\#(shown),"time_to_live":60"#, "apns-expiration", "\(nowSeconds + 60)"),
        Row("time_to_live 0: once, and not stored", #"\#(shown),"time_to_live":0"#, "apns-expiration", "0"),
        Row("four weeks by default", shown, "apns-expiration", "\(nowSeconds + 2_419_200)"),
        Row("collapse_key", #"\#(shown),"collapse_key":"c""#, "apns-collapse-id", "c"),
        Row(
            "a collapse id has 64 bytes at most",
            #"\#(shown),"collapse_key":"\#(String(repeating: "é", count: 33))""#,
            "apns-collapse-id",
            nil
        ),
        Row("an alert's push type", shown, "apns-push-type", "alert"),
        Row("a badge alone is an alert's too", #""notification":{"badge":"1"}"#, "apns-push-type", "alert"),
        Row("data's push type", data, "apns-push-type", "background"),
    ]

    @Test(arguments: legacyRows) func `a legacy option becomes a header`(row: Row) {
        #expect(Receiver(.apple).legacy(row.message).headers[row.name]?.string == row.value)
    }

    static let v1Rows = [
        Row("10 unless it is set", shown, "apns-priority", "10"),
        Row("data alone are 5", data, "apns-priority", "5"),
        Row("as it is set", #"\#(shown),"apns":{"headers":{"apns-priority":"5"}}"#, "apns-priority", "5"),
        Row("30 days unless it is set", shown, "apns-expiration", "\(nowSeconds + 2_592_000)"),
        Row(
            "an expiration as the overview's example sets it",
            #"\#(data),"apns":{"headers":{"apns-expiration":"1604750400"}}"#,
            "apns-expiration",
            "1604750400"
        ),
        Row(
            "header names have no case",
            #"\#(shown),"apns":{"headers":{"APNS-Collapse-ID":"c"}}"#,
            "apns-collapse-id",
            "c"
        ),
        Row(
            "Android's collapse key stays there",
            #"\#(shown),"android":{"collapse_key":"c"}"#,
            "apns-collapse-id",
            nil
        ),
        Row(
            "Android's ttl stays there",
            #"\#(shown),"android":{"ttl":"1s"}"#,
            "apns-expiration",
            "\(nowSeconds + 2_592_000)"
        ),
        Row("an alert's push type", shown, "apns-push-type", "alert"),
        Row("data's push type", data, "apns-push-type", "background"),
        Row(
            "a push type as it is set",
            #"\#(shown),"apns":{"headers":{"apns-push-type":"voip"}}"#,
            "apns-push-type",
            "voip"
        ),
        Row(
            "a Live Activity's push type",
            #""apns":{"live_activity_token":"ab","payload":{"aps":{"event":"update"}}}"#,
            "apns-push-type",
            "liveactivity"
        ),
    ]

    @Test(arguments: v1Rows) func `v1 headers are passed on with FCM's defaults`(row: Row) {
        #expect(Receiver(.apple).v1(row.message).headers[row.name]?.string == row.value)
    }

    @Test func `plain text options become headers`() {
        let headers = Receiver(.apple).plainText("data.k=v&time_to_live=60&collapse_key=c").headers
        #expect(headers["apns-expiration"]?.string == "\(Self.nowSeconds + 60)")
        #expect(headers["apns-collapse-id"] == "c" && headers["apns-priority"] == "5")
    }

    @Test func `a bundle name is the topic, and a Live Activity has its own`() {
        var receiver = Receiver(.apple)
        receiver.package = "com.example.app"
        #expect(receiver.v1(Self.data).headers["apns-topic"] == "com.example.app")
        let activity = receiver.v1(#""apns":{"live_activity_token":"ab","payload":{"aps":{"event":"update"}}}"#)
        #expect(activity.headers["apns-topic"] == "com.example.app.push-type.liveactivity")
        #expect(activity.liveActivityToken == "ab")
        #expect(activity.callbacks.isEmpty && activity.shown == nil)
    }

    @Test func `an expiration counts from the acceptance, not from the delivery`() {
        var delivery = Receiver(.apple).delivery(.legacy(Array(#"{"data":{},"time_to_live":60}"#.utf8)))
        delivery.timeMs += 50_000
        let headers = Reception(delivery, app: Devices.Device()).headers
        #expect(headers["apns-expiration"]?.string == "\(Self.nowSeconds + 60)")
    }
}
