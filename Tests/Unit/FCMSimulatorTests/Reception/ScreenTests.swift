import FanfareJSON
import Testing

@testable import FCMSimulator

/// What is on the screen after each of several deliveries.
@Suite struct ScreenTests {
    private static func titles(_ screen: JSONObject) -> [String] {
        (screen["notifications"]?.array ?? []).map { $0.object?["title"]?.string ?? "-" }
    }

    @Test(arguments: [Platform.android, .web]) func `a notification replaces one with its tag, and without a tag none`(
        platform: Platform
    ) throws {
        var receiver = Receiver(platform)
        func message(_ title: String, tag: String?) -> String {
            let tag = tag.map { #","tag":"\#($0)""# } ?? ""
            let block = platform == .web ? "webpush" : "android"
            return #""\#(block)":{"notification":{"title":"\#(title)"\#(tag)}}"#
        }
        for (title, tag) in [("A", "x"), ("B", nil), ("C", nil), ("D", "x"), ("E", "y")] {
            receiver.keep(v1: message(title, tag: tag))
        }
        let wanted = [["A"], ["A", "B"], ["A", "B", "C"], ["B", "C", "D"], ["B", "C", "D", "E"]]
        #expect(try receiver.screens().map(Self.titles) == wanted)
    }

    @Test func `a notification on Apple replaces one with its collapse id`() throws {
        var receiver = Receiver(.apple)
        for (title, options) in [("A", #","collapse_key":"c""#), ("B", ""), ("C", #","collapse_key":"c""#)] {
            receiver.keep(legacy: #""notification":{"title":"\#(title)"}\#(options)"#)
        }
        #expect(try receiver.screens().map(Self.titles) == [["A"], ["A", "B"], ["B", "C"]])
    }

    @Test func `tag and id of androidV2 together identify a notification`() throws {
        var receiver = Receiver(.android)
        for (title, id) in [("A", 1), ("B", 2), ("C", 1)] {
            let notification = #"{"title":"\#(title)","tag":"x","id":\#(id)}"#
            receiver.keep(v1: #""android_v2":{"remote_notification":{"notification":\#(notification)}}"#)
        }
        #expect(try receiver.screens().map(Self.titles) == [["A"], ["A", "B"], ["B", "C"]])
    }

    @Test func `an absent badge keeps the number, and 0 clears it`() throws {
        var receiver = Receiver(.apple)
        for badge in [nil, "5", nil, "0", "2"] as [String?] {
            let badge = badge.map { #","badge":"\#($0)""# } ?? ""
            receiver.keep(legacy: #""notification":{"title":"T"\#(badge)}"#)
        }
        #expect(try receiver.screens().map { $0["badge"]?.number?.int64 } == [0, 5, 5, 0, 2])
    }

    @Test func `the badge on Android counts items`() throws {
        var receiver = Receiver(.android)
        for count in ["", #","notification_count":5"#, #","notification_count":0"#, #","notification_count":-1"#] {
            receiver.keep(v1: #""android":{"notification":{"title":"T"\#(count)}}"#)
        }
        #expect(try receiver.screens().map { $0["badge"]?.number?.int64 } == [1, 6, 7, 8])
    }

    struct FallbackRow: CustomTestStringConvertible, Sendable {
        var fact: String
        var channel: String?
        var known: Set<String>?
        var shown: String

        var testDescription: String { fact }
    }

    @Test(arguments: [
        FallbackRow(fact: "a channel that exists", channel: "news", known: ["news"], shown: "news"),
        FallbackRow(fact: "an unknown channel", channel: "new", known: ["news"], shown: "default"),
        FallbackRow(fact: "an absent channel", channel: nil, known: ["news"], shown: "default"),
        FallbackRow(fact: "an app of which nothing is said", channel: "news", known: nil, shown: "news"),
    ]) func `a channel falls back to the app's`(row: FallbackRow) throws {
        var receiver = Receiver(.android)
        receiver.app.channels = row.known.map { Set($0.map { ExactText($0) }) }
        let channel = row.channel.map { #","android_channel_id":"\#($0)""# } ?? ""
        receiver.keep(legacy: #""notification":{"title":"T"\#(channel)}"#)
        receiver.keep(legacy: #""notification":{"title":"T","icon":"i"\#(channel)}"#)
        let last = try #require(try receiver.screens().last?["notifications"]?.array)
        #expect(last.map { $0.object?["channel"]?.string } == [row.shown, row.shown])
        // An absent icon is the app's too.
        #expect(last.map { $0.object?["icon"]?.string } == ["default", "i"])
    }

    @Test func `a screen follows from deliveries that are not listed any more`() throws {
        var receiver = Receiver(.apple)
        receiver.keep(legacy: #""notification":{"title":"A","badge":"3"}"#)
        receiver.keep(legacy: #""notification":{"title":"B"}"#)
        let line = try #require(try receiver.lines(most: 1).first)
        let screen = try #require(line["screen"]?.object)
        #expect(screen["badge"] == 3 && Self.titles(screen) == ["A", "B"])
    }

    @Test func `a screen holds fifty notifications`() throws {
        var receiver = Receiver(.android)
        for index in 0..<60 { receiver.keep(v1: #""notification":{"title":"\#(index)"}"#) }
        let titles = Self.titles(try #require(try receiver.screens().last))
        #expect(titles == (10..<60).map(String.init))
    }

    @Test func `each token has a screen of its own, and the foreground shows nothing`() throws {
        var trial = Trial()
        for token in ["a", "sbx-apple-1", "sbx-web-1"] {
            _ = trial.v1(#"{"message":{"token":"\#(token)","notification":{"title":"\#(token)"}}}"#)
        }
        let lines = try trial.control("GET", "/deliveries").text.split(separator: "\n").map { line in
            try #require(try JSONParser.parse(Array(line.utf8)).object)
        }
        #expect(try lines.map { Self.titles(try #require($0["screen"]?.object)) } == [[], ["sbx-apple-1"], []])
        let first = try lines.map { try #require($0["callback"]?.array?.first?.object?["name"]?.string) }
        #expect(first == ["onMessageReceived", "userNotificationCenter(_:willPresent:)", "onMessage"])
        for line in lines {
            #expect(line["app_state"] == "foreground" && line["accepted_ms"]?.number?.int64 == trial.nowMs)
        }
    }

    @Test func `a device is described by its state and channels, and keeps its screen with a new token`() throws {
        var trial = Trial()
        trial.control("POST", "/devices", #"{"token":"a","app_state":"background","channels":["news"]}"#)
        for channel in ["news", "other"] {
            let shown = #""android":{"notification":{"title":"T","channel_id":"\#(channel)"}}"#
            #expect(trial.v1(#"{"message":{"token":"a",\#(shown)}}"#).status == 200)
        }
        func channels(_ token: String) throws -> [String?] {
            let last = try #require(try trial.deliveries(token).last?["screen"]?.object)
            return (last["notifications"]?.array ?? []).map { $0.object?["channel"]?.string }
        }
        #expect(try channels("a") == ["news", "default"])
        trial.control("POST", "/devices", #"{"token":"a","refreshed_to":"b"}"#)
        _ = trial.v1(#"{"message":{"token":"b","notification":{"title":"T"}}}"#)
        #expect(try channels("b") == ["news", "default", "default"])
    }
}
