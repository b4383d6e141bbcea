import FanfareJSON
import Testing

@testable import FCMSimulator

/// Concept page, "collapsible and non-collapsible messages".
@Suite struct CollapseTests {
    @Test func `a newer message takes the place of a stored one with its key`() throws {
        var trial = Trial()
        try trial.device(#"{"token":"a","online":false}"#)
        for (mark, key) in [("1", "x"), ("2", "y"), ("3", "x"), ("4", "x")] {
            trial.message(to: "a", #""data":{"k":"\#(mark)"},"android":{"collapse_key":"\#(key)"}"#)
        }
        trial.message(to: "a", #""data":{"k":"5"}"#)
        trial.message(to: "a", #""data":{"k":"6"}"#)
        #expect(try trial.dropped(.collapsed) == 2)
        try trial.device(#"{"token":"a","online":true}"#)
        #expect(Set(trial.received("a").map(\.mark)) == ["4", "2", "5", "6"])
    }

    @Test func `keys of different tokens are different keys`() throws {
        var trial = Trial()
        for token in ["a", "b"] {
            try trial.device(#"{"token":"\#(token)","online":false}"#)
            trial.message(to: token, #""android":{"collapse_key":"x"}"#)
        }
        #expect(try trial.statistic("stored") == 2)
    }

    @Test(
        arguments: [
            // Notifications have the package as their key, whatever theirs says.
            ("a", #""notification":{"title":"T"},"android":{"collapse_key":"x"}"#, "app.demo"),
            ("a", #""android":{"notification":{"title":"T"},"collapse_key":"x"}"#, "app.demo"),
            ("a", #""data":{"k":"v"},"android":{"collapse_key":"x"}"#, "x"), ("a", #""data":{"k":"v"}"#, nil),
            ("a", #""data":{"k":"v"},"android":{"collapse_key":""}"#, nil),
            ("sbx-apple-1", #""notification":{"title":"T"},"apns":{"headers":{"APNS-Collapse-ID":"x"}}"#, "x"),
            ("sbx-apple-1", #""notification":{"title":"T"},"android":{"collapse_key":"y"}"#, nil),
            ("sbx-web-1", #""notification":{"title":"T"},"webpush":{"headers":{"Topic":"x"}}"#, "x"),
            ("sbx-web-1", #""notification":{"title":"T"}"#, nil),
        ] as [(String, String, String?)]
    )
    func `each platform has its own key`(token: String, rest: String, key: String?) throws {
        var trial = Trial()
        try trial.device(#"{"token":"\#(token)","online":false,"package":"app.demo"}"#)
        trial.message(to: token, rest)
        #expect(try trial.stored(token).map { $0["collapse_key"]?.string } == [key])
    }

    @Test(arguments: [("a", "app.demo"), ("sbx-apple-1", "x"), ("sbx-web-1", "x")])
    func `a legacy key reaches all platforms`(token: String, ofNotification: String) throws {
        var trial = Trial()
        try trial.device(#"{"token":"\#(token)","online":false,"package":"app.demo"}"#)
        _ = trial.legacy(#"{"to":"\#(token)","collapse_key":"x","data":{"k":"v"}}"#)
        #expect(try trial.stored(token).last?["collapse_key"]?.string == "x")
        _ = trial.legacy(#"{"to":"\#(token)","collapse_key":"x","notification":{"title":"T"}}"#)
        #expect(try trial.stored(token).last?["collapse_key"]?.string == ofNotification)
    }

    @Test(arguments: [
        (#""fcm_options":{}"#, 1), (#""data":{}"#, 1), (#""android":{"data":{}}"#, 1), (#""data":{"k":"v"}"#, 2),
    ])
    func `topic messages without a payload collapse`(rest: String, stored: Int) throws {
        var trial = Trial()
        try trial.device(#"{"token":"a","topics":["t"],"online":false}"#)
        for _ in 0..<2 { _ = trial.v1(#"{"message":{"topic":"t",\#(rest)}}"#) }
        trial.nowMs += 10
        #expect(try trial.stored("a").count == stored)
        // To a token they do not.
        try trial.device(#"{"token":"b","online":false}"#)
        for _ in 0..<2 { trial.message(to: "b", #""fcm_options":{}"#) }
        #expect(try trial.stored("b").count == 2)
    }

    @Test func `four of five collapse keys stay, chosen by the seed`() throws {
        var kept: Set<[String]> = []
        for seed in UInt64(1)...20 {
            var lists: [[String]] = []
            for _ in 0..<2 {
                var trial = Trial(seed: seed)
                try trial.device(#"{"token":"a","online":false}"#)
                for key in 1...5 { trial.message(to: "a", #""android":{"collapse_key":"\#(key)"}"#) }
                #expect(try trial.dropped(.tooManyKeys) == 1)
                lists.append(try trial.stored("a").compactMap { $0["collapse_key"]?.string })
            }
            #expect(lists[0].count == 4)
            #expect(lists[0] == lists[1])
            kept.insert(lists[0])
        }
        #expect(kept.count > 1)
    }

    @Test func `a stored message is dropped when a newer one with its key is delivered`() throws {
        var trial = Trial()
        try trial.device(#"{"token":"a","app_state":"doze"}"#)
        trial.message(to: "a", #""data":{"k":"old"},"android":{"collapse_key":"x"}"#)
        trial.message(to: "a", #""data":{"k":"new"},"android":{"collapse_key":"x","priority":"high"}"#)
        try trial.device(#"{"token":"a","app_state":"foreground"}"#)
        #expect(trial.received("a").map(\.mark) == ["new"])
        #expect(try trial.dropped(.collapsed) == 1)
    }

    // MARK: The hundred

    @Test func `the 101st stored message discards all`() throws {
        var trial = Trial()
        try trial.device(#"{"token":"a","online":false}"#)
        trial.message(to: "a", #""android":{"collapse_key":"x"}"#)
        for _ in 0..<100 { trial.message(to: "a") }
        #expect(try trial.stored("a").count == 101)
        trial.message(to: "a")
        #expect(try trial.stored("a").isEmpty)
        #expect(try trial.dropped(.tooManyPending) == 102)
        trial.message(to: "a", #""data":{"k":"after"}"#)
        try trial.device(#"{"token":"a","online":true}"#)
        let received = trial.received("a")
        #expect(received.map(\.event) == [.deletedMessages(count: 102), .message])
        #expect(received.first?.accepted.senderID == Trial.project.senderID)
        #expect(received.last?.mark == "after")
        // Once is enough.
        try trial.device(#"{"token":"a","online":false}"#)
        try trial.device(#"{"token":"a","online":true}"#)
        #expect(trial.received("a").count == 2)
    }

    @Test func `two overflows before the device connects cause one event`() throws {
        var trial = Trial()
        try trial.device(#"{"token":"a","online":false}"#)
        for _ in 0..<202 { trial.message(to: "a") }
        try trial.device(#"{"token":"a","online":true}"#)
        #expect(trial.received("a").map(\.event) == [.deletedMessages(count: 202)])
    }

    @Test func `the event of discarded messages waits for the end of Doze, not for the throttle`() throws {
        var trial = Trial()
        try trial.device(#"{"token":"a","app_state":"doze"}"#)
        for _ in 0..<101 { trial.message(to: "a") }
        #expect(trial.received("a").isEmpty)
        try trial.device(#"{"token":"a","app_state":"background"}"#)
        #expect(trial.received("a").map(\.event) == [.deletedMessages(count: 101)])
        try trial.device(#"{"token":"b","app_state":"background","normal_delay_ms":60000}"#)
        for _ in 0..<101 { trial.message(to: "b") }
        #expect(trial.received("b").map(\.event) == [.deletedMessages(count: 101)])
    }

    @Test(arguments: ["sbx-apple-1", "sbx-web-1"])
    func `an Apple or web device loses its oldest message beyond a hundred`(token: String) throws {
        var trial = Trial()
        try trial.device(#"{"token":"\#(token)","online":false}"#)
        for mark in 0..<103 {
            trial.message(to: token, #""notification":{"title":"T"},"data":{"k":"\#(mark)"}"#)
        }
        try trial.device(#"{"token":"\#(token)","online":true}"#)
        #expect(trial.received(token).map(\.mark) == (3..<103).map { String($0) })
        #expect(trial.received(token).allSatisfy { $0.event == .message })
    }
}
