import FanfareJSON
import Testing

@testable import FCMSimulator

/// A name in two normal forms is two names in every table that takes more than ASCII.
@Suite struct ExactNameTests {
    static let composed = "caf\u{E9}"
    static let decomposed = "cafe\u{301}"

    @Test func `texts are equal by their bytes`() {
        #expect(Self.composed == Self.decomposed)
        #expect(!Self.composed.isExactly(Self.decomposed))
        #expect(Self.composed.isExactly("caf\u{E9}"))
        #expect(Set([ExactText(Self.composed), ExactText(Self.decomposed), ExactText("caf\u{E9}")]).count == 2)
        #expect(!"\u{212A}x".hasExactPrefix("K"))
        let text: String? = Self.composed
        #expect(!text.isExactly(Self.decomposed) && !text.isExactly(nil))
    }

    @Test func `groups of both forms exist side by side`() throws {
        var trial = Trial()
        let first = try trial.makeGroup(["a"], name: Self.composed)
        let second = try trial.makeGroup(["b"], name: Self.decomposed)
        // A key belongs to the group of exactly that name.
        let added = trial.group(GroupTests.body("add", name: Self.decomposed, key: first, ["c"]))
        #expect(added.status == 400)
        #expect(trial.group(GroupTests.body("add", name: Self.decomposed, key: second, ["c"])).status == 200)
        #expect(try trial.legacy(#"{"to":"\#(second)"}"#).json() == ["success": 2, "failure": 0])
        #expect(try trial.legacy(#"{"to":"\#(first)"}"#).json() == ["success": 1, "failure": 0])
    }

    @Test func `a group's key is not found by another spelling`() throws {
        var trial = Trial()
        try trial.device(#"{"group":"K","members":["a"]}"#)
        #expect(try trial.legacy(#"{"to":"K"}"#).json() == ["success": 1, "failure": 0])
        #expect(try trial.legacy("{\"to\":\"\u{212A}\"}").json()["success"] == 0)
        #expect(try trial.legacy("{\"to\":\"\u{212A}\"}").json()["results"] != nil)
    }

    @Test func `collapse keys of both forms are stored side by side`() throws {
        var trial = Trial()
        try trial.device(#"{"token":"a","online":false}"#)
        for key in [Self.composed, Self.decomposed, Self.composed] {
            trial.message(to: "a", #""data":{"k":"v"},"android":{"collapse_key":"\#(key)"}"#)
        }
        #expect(try trial.stored("a").count == 2)
    }

    @Test func `a package is matched by its bytes`() throws {
        var trial = Trial()
        try trial.device(#"{"token":"a","package":"\#(Self.composed)"}"#)
        for (package, isSent) in [(Self.composed, true), (Self.decomposed, false)] {
            let body = #"{"to":"a","restricted_package_name":"\#(package)","data":{"k":"v"}}"#
            #expect(try trial.legacy(body).json()["success"] == (isSent ? 1 : 0))
        }
    }

    @Test(arguments: [Platform.android, .web]) func `tags of both forms are shown side by side`(
        platform: Platform
    ) throws {
        var receiver = Receiver(platform)
        let block = platform == .web ? "webpush" : "android"
        for tag in [Self.composed, Self.decomposed, Self.composed] {
            receiver.keep(v1: #""\#(block)":{"notification":{"title":"T","tag":"\#(tag)"}}"#)
        }
        #expect(try receiver.screens().map { $0["notifications"]?.array?.count } == [1, 2, 2])
    }

    @Test func `channels of both forms are different channels`() throws {
        var trial = Trial()
        try trial.device(#"{"token":"a","app_state":"background","channels":["\#(Self.composed)"]}"#)
        for channel in [Self.composed, Self.decomposed] {
            trial.message(to: "a", #""android":{"notification":{"title":"T","channel_id":"\#(channel)"}}"#)
        }
        let shown = try trial.deliveries("a").last?["screen"]?.object?["notifications"]?.array?.compactMap {
            $0.object?["channel"]?.string
        }
        #expect(shown?.map(\.utf8.count) == [Self.composed.utf8.count, "default".utf8.count])
    }

    @Test func `messages with ids of both forms are two messages over XMPP`() throws {
        var trial = XMPPTrial()
        let id = try trial.login()
        trial.control("POST", "/faults", #"{"match":{"path":"xmpp"},"action":{"delay_ms":10}}"#)
        for name in [Self.composed, Self.decomposed] {
            #expect(try trial.send(XMPPMessageTests.body("a", id: name), on: id).isEmpty)
        }
        let third = try trial.send(XMPPMessageTests.body("a", id: Self.composed), on: id)
        #expect(third.map { $0["message_type"] } == ["nack"])
        trial.pass(10)
        #expect(try trial.messages(on: id).map { $0["message_type"] } == ["ack", "ack"])
    }

    @Test func `an ack of another form acknowledges no upstream message`() throws {
        var trial = XMPPTrial()
        let id = try trial.login()
        trial.control("POST", "/upstream", #"{"from":"a","message_id":"\#(Self.composed)"}"#)
        _ = try trial.send(UpstreamTests.ack(Self.decomposed, to: "a"), on: id)
        #expect(try trial.statistic("upstream_acked") == 0)
        _ = try trial.send(UpstreamTests.ack(Self.composed, to: "a"), on: id)
        #expect(try trial.statistic("upstream_acked") == 1)
    }

    @Test func `names of fields and values of enumerations are ASCII`() {
        var trial = Trial()
        for rest in ["\"android\":{\"collapse\u{212A}ey\":\"x\"}", "\"android\":{\"priority\":\"h\u{131}gh\"}"] {
            #expect(trial.message(to: "a", rest).status == 400, "\(rest)")
        }
        #expect(trial.message(to: "a", #""android":{"collapseKey":"x","priority":"high"}"#).status == 200)
    }
}
