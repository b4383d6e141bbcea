import FanfareJSON
import Testing

@testable import FCMSimulator

/// Inactive, uninstalled, replaced and expired: the end of the concept page's "life of a message".
@Suite struct DeviceStateTests {
    // MARK: Silent for long

    @Test(arguments: [(29, 1, 0), (30, 1, 0), (31, 0, 1), (269, 0, 1)])
    func `messages to a device silent for a month are accepted and dropped`(
        days: Int,
        stored: Int64,
        inactive: Int64
    ) throws {
        var trial = Trial()
        try trial.device(#"{"token":"a","inactive_days":\#(days)}"#)
        #expect(trial.message(to: "a").status == 200)
        #expect(try trial.legacy(#"{"to":"a"}"#).results() == ["ok"])
        #expect(try trial.statistic("stored") == 2 * stored)
        #expect(try trial.dropped(.inactive) == 2 * inactive)
    }

    @Test func `a month on the virtual clock makes a device inactive`() throws {
        var trial = Trial()
        try trial.device(#"{"token":"a","online":false}"#)
        try trial.advance(30 * day + 1)
        #expect(trial.message(to: "a").status == 200)
        #expect(try trial.dropped(.inactive) == 1)
        try trial.advance(240 * day)
        #expect(trial.message(to: "a").status == 404)
        #expect(try trial.shown("a")["state"] == "unregistered")
    }

    @Test(arguments: [(28 * day, 3), (28 * day + 1, 0)])
    func `a device that returns within four weeks of the last data message gets the event`(
        wait: Int64,
        count: Int
    ) throws {
        var trial = Trial()
        try trial.device(#"{"token":"a","inactive_days":40}"#)
        for _ in 0..<3 { trial.message(to: "a") }
        #expect(try trial.shown("a")["missed"] == 3)
        try trial.advance(wait)
        try trial.device(#"{"token":"a","online":true}"#)
        #expect(trial.received("a").map(\.event) == (count > 0 ? [.deletedMessages(count: count)] : []))
        #expect(trial.message(to: "a").status == 200)
        #expect(trial.received("a").last?.event == .message)
    }

    @Test func `missed notifications cause no event, missed data messages do`() throws {
        var trial = Trial()
        try trial.device(#"{"token":"a","inactive_days":40}"#)
        trial.message(to: "a", #""notification":{"title":"T"}"#)
        try trial.device(#"{"token":"a","online":true}"#)
        #expect(trial.received("a").isEmpty)
    }

    @Test func `a token expires after 270 days of silence`() throws {
        var trial = Trial()
        try trial.device(#"{"token":"a","inactive_days":270,"topics":["t"]}"#)
        let refused = trial.message(to: "a")
        #expect(refused.status == 404)
        #expect(try refused.fcmError() == "UNREGISTERED")
        #expect(try trial.legacy(#"{"to":"a"}"#).results() == ["NotRegistered"])
        // Coming back does not revive it.
        try trial.device(#"{"token":"a","online":true}"#)
        #expect(trial.message(to: "a").status == 404)
        try trial.device(#"{"token":"a","state":"healthy"}"#)
        #expect(trial.message(to: "a").status == 200)
    }

    @Test(arguments: ["apple", "web"])
    func `silence does not expire an Apple or web token`(platform: String) throws {
        var trial = Trial()
        let refused = trial.control(
            "POST",
            "/devices",
            #"{"token":"a","platform":"\#(platform)","inactive_days":40}"#
        )
        #expect(refused.status == 400)
        try trial.device(#"{"token":"a","platform":"\#(platform)","online":false}"#)
        try trial.advance(300 * day)
        #expect(trial.message(to: "a").status == 200)
        #expect(try trial.statistic("stored") == 1)
    }

    // MARK: Uninstalled

    @Test(arguments: ["a", "sbx-apple-1", "sbx-web-1"])
    func `the first message after an uninstallation is lost, the next refused`(token: String) throws {
        var trial = Trial()
        try trial.device(#"{"token":"\#(token)","state":"uninstalled"}"#)
        #expect(trial.message(to: token, #""notification":{"title":"T"}"#).status == 200)
        #expect(trial.received(token).isEmpty)
        #expect(try trial.dropped(.uninstalled) == 1)
        #expect(trial.message(to: token).status == 404)
        #expect(try trial.legacy(#"{"to":"\#(token)"}"#).results() == ["NotRegistered"])
    }

    @Test func `an uninstallation is known after the next delivery attempt`() throws {
        var trial = Trial()
        try trial.device(#"{"token":"a","state":"uninstalled","online":false}"#)
        for _ in 0..<3 { #expect(trial.message(to: "a").status == 200) }
        try trial.device(#"{"token":"a","online":true}"#)
        #expect(try trial.dropped(.uninstalled) == 3)
        #expect(try trial.statistic("stored") == 0)
        #expect(try trial.statistic("delivered") == 0)
        #expect(trial.message(to: "a").status == 404)
    }

    @Test func `messages stored for a token are dropped when it is unregistered`() throws {
        var trial = Trial()
        try trial.device(#"{"token":"a","online":false}"#)
        trial.message(to: "a")
        try trial.device(#"{"token":"a","state":"unregistered"}"#)
        #expect(try trial.dropped(.unregistered) == 1)
        #expect(try trial.statistic("stored") == 0)
    }

    // MARK: Replaced

    @Test func `a replaced token works until its time, and legacy answers name its successor`() throws {
        var trial = Trial()
        try trial.device(#"{"token":"old","topics":["t"],"package":"app.demo"}"#)
        try trial.device(#"{"token":"old","refreshed_to":"new","old_token_works_ms":60000}"#)
        #expect(try trial.legacy(#"{"to":"old","data":{"k":"1"}}"#).results() == ["ok>new"])
        #expect(trial.message(to: "old", #""data":{"k":"2"}"#).status == 200)
        #expect(try trial.legacy(#"{"to":"new"}"#).results() == ["ok"])
        #expect(trial.received("old").map(\.mark) == ["1", "2"])
        #expect(trial.received("old").first?.package == "app.demo")
        #expect(try trial.shown("new")["topics"] == .array(["t"]))
        #expect(try trial.shown("old")["refreshed_to"] == "new")
        // Both are one device.
        #expect(try trial.shown("new")["buckets"]?.object?["minute"] == 3)
        try trial.advance(60_000)
        #expect(try trial.legacy(#"{"to":"old"}"#).results() == ["NotRegistered"])
        #expect(trial.message(to: "old").status == 404)
        #expect(trial.message(to: "new").status == 200)
    }

    @Test func `messages stored for the old token reach the app under its new token`() throws {
        var trial = Trial()
        try trial.device(#"{"token":"old","online":false}"#)
        trial.message(to: "old", #""android":{"collapse_key":"x"},"data":{"k":"1"}"#)
        try trial.device(#"{"token":"old","refreshed_to":"new"}"#)
        #expect(try trial.stored("new").count == 1)
        trial.message(to: "old", #""android":{"collapse_key":"x"},"data":{"k":"2"}"#)
        try trial.device(#"{"token":"new","online":true}"#)
        #expect(trial.received("old").map(\.mark) == ["2"])
        #expect(try trial.dropped(.collapsed) == 1)
    }

    @Test func `a token replaced several times names the latest from every old one`() throws {
        var trial = Trial()
        for round in 0..<20 { try trial.device(#"{"token":"t\#(round)","refreshed_to":"t\#(round + 1)"}"#) }
        #expect(try trial.legacy(#"{"to":"t19"}"#).results() == ["ok>t20"])
        #expect(try trial.legacy(#"{"to":"t4"}"#).results() == ["ok>t20"])
        // More than 16 are not remembered: the oldest have ended.
        #expect(try trial.legacy(#"{"to":"t3"}"#).results() == ["NotRegistered"])
        #expect(trial.control("POST", "/devices", #"{"token":"t3","online":false}"#).status == 400)
        #expect(trial.control("POST", "/devices", #"{"token":"t20","refreshed_to":"t3"}"#).status == 400)
    }

    // MARK: Whose it is

    @Test func `a message from another sender is a mismatch`() throws {
        var trial = Trial()
        try trial.device(#"{"token":"a","senders":["210987654321","1"]}"#)
        let refused = trial.message(to: "a")
        #expect(refused.status == 403)
        #expect(try refused.fcmError() == "SENDER_ID_MISMATCH")
        #expect(try trial.legacy(#"{"to":"a"}"#).results() == ["MismatchSenderId"])
        #expect(try trial.legacy(#"{"to":"a"}"#, key: Trial.other.serverKey).results() == ["ok"])
        try trial.device(#"{"token":"a","senders":null}"#)
        #expect(trial.message(to: "a").status == 200)
    }

    @Test func `a message restricted to another package is refused on Android only`() throws {
        var trial = Trial()
        try trial.device(#"{"token":"a","package":"app.demo"}"#)
        try trial.device(#"{"token":"b","platform":"apple","bundle":"app.demo"}"#)
        for (package, ok) in [("app.demo", true), ("app.other", false)] {
            let field = #""restricted_package_name":"\#(package)""#
            #expect(trial.message(to: "a", #""android":{\#(field)}"#).status == (ok ? 200 : 400))
            #expect(try trial.legacy(#"{"to":"a",\#(field)}"#).results() == [ok ? "ok" : "InvalidPackageName"])
            #expect(try trial.legacy(#"{"to":"b",\#(field)}"#).results() == ["ok"])
        }
    }

    @Test func `a message beyond an Apple device's rate gets the device's error`() throws {
        var trial = Trial()
        try trial.device(#"{"token":"a","platform":"apple","rate_per_minute":2}"#)
        let shown = #""notification":{"title":"T"}"#
        for _ in 0..<2 { #expect(trial.message(to: "a", shown).status == 200) }
        let refused = trial.message(to: "a", shown)
        #expect(refused.status == 429)
        #expect(try refused.fcmError() == "QUOTA_EXCEEDED")
        #expect(try refused.detail("QuotaFailure") != nil)
        #expect(refused.header("retry-after") == "60")
        #expect(try trial.legacy(#"{"to":"a",\#(shown)}"#).results() == ["DeviceMessageRateExceeded"])
        try trial.advance(minute)
        #expect(trial.message(to: "a", shown).status == 200)
    }
}
