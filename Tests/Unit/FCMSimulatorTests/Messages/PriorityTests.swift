import FanfareJSON
import Testing

@testable import FCMSimulator

/// Concept page, "priority of a message" and what Doze does.
@Suite struct PriorityTests {
    @Test(arguments: [
        (#""data":{"k":"v"}"#, false), (#""data":{"k":"v"},"android":{"priority":"normal"}"#, false),
        (#""data":{"k":"v"},"android":{"priority":"HIGH"}"#, true), (#""notification":{"title":"T"}"#, true),
        (#""notification":{"title":"T"},"android":{"priority":"NORMAL"}"#, false),
        (#""androidV2":{"remoteNotification":{"notification":{"title":"T"}}}"#, true),
        (#""androidV2":{"backgroundSync":{}}"#, false),
    ])
    func `Doze stores normal priority until it ends, and high priority wakes`(rest: String, wakes: Bool) throws {
        var trial = Trial()
        try trial.device(#"{"token":"a","app_state":"doze"}"#)
        #expect(trial.message(to: "a", rest).status == 200)
        #expect(trial.received("a").count == (wakes ? 1 : 0))
        try trial.advance(minute)
        try trial.device(#"{"token":"a","app_state":"background"}"#)
        let delivery = try #require(trial.received("a").first)
        #expect(delivery.appState == (wakes ? .doze : .background))
        #expect(delivery.accepted.priority == (wakes ? .high : .normal))
        #expect(trial.times("a") == [wakes ? 0 : minute])
    }

    @Test(arguments: [
        (#""priority":"high","data":{"k":"v"}"#, true), (#""data":{"k":"v"}"#, false),
        (#""notification":{"title":"T"}"#, true), (#""priority":"normal","notification":{"title":"T"}"#, false),
    ])
    func `legacy priority acts as v1 priority does`(rest: String, wakes: Bool) throws {
        var trial = Trial()
        try trial.device(#"{"token":"a","app_state":"doze"}"#)
        #expect(try trial.legacy(#"{"to":"a",\#(rest)}"#).results() == ["ok"])
        #expect(trial.received("a").count == (wakes ? 1 : 0))
    }

    @Test func `a message of normal priority and lifetime 0 is dropped in Doze`() throws {
        var trial = Trial()
        try trial.device(#"{"token":"a","app_state":"doze"}"#)
        trial.message(to: "a", #""android":{"ttl":"0s"}"#)
        #expect(try trial.dropped(.nowOrNever) == 1)
        trial.message(to: "a", #""android":{"ttl":"0s","priority":"high"}"#)
        #expect(trial.received("a").count == 1)
    }

    @Test func `a message of normal priority is delayed in the background`() throws {
        var trial = Trial()
        try trial.device(#"{"token":"a","app_state":"background","normal_delay_ms":30000}"#)
        trial.message(to: "a", #""data":{"k":"normal"}"#)
        trial.message(to: "a", #""data":{"k":"high"},"android":{"priority":"high"}"#)
        trial.message(to: "a", #""data":{"k":"now"},"android":{"ttl":"0s"}"#)
        #expect(trial.received("a").map(\.mark) == ["high", "now"])
        try trial.advance(minute)
        #expect(trial.received("a").map(\.mark) == ["high", "now", "normal"])
        #expect(trial.times("a").last == 30_000)
        trial.message(to: "a", #""data":{"k":"next"}"#)
        try trial.device(#"{"token":"a","app_state":"foreground"}"#)
        #expect(trial.received("a").last?.mark == "next")
        #expect(trial.times("a").last == minute)
    }

    @Test func `an app with lowered priority gets high priority as normal`() throws {
        var trial = Trial()
        try trial.device(#"{"token":"a","app_state":"doze","lowers_priority":true}"#)
        trial.message(to: "a", #""android":{"priority":"high"}"#)
        #expect(trial.received("a").isEmpty)
        try trial.device(#"{"token":"a","app_state":"foreground"}"#)
        let delivery = try #require(trial.received("a").first)
        #expect(delivery.accepted.priority == .high)
        #expect(delivery.priority == .normal)
    }

    @Test(arguments: [
        ("foreground", true), ("background", true), ("force_quit", false), ("low_power", false),
    ])
    func `silent pushes are dropped in force quit and low power`(state: String, arrives: Bool) throws {
        var trial = Trial()
        try trial.device(#"{"token":"sbx-apple-1","app_state":"\#(state)","bundle":"app.demo"}"#)
        let silent = #""data":{"k":"silent"},"apns":{"payload":{"aps":{"content-available":1}}}"#
        #expect(trial.message(to: "sbx-apple-1", silent).status == 200)
        _ = trial.legacy(#"{"to":"sbx-apple-1","content_available":true,"data":{"k":"legacy"}}"#)
        trial.message(to: "sbx-apple-1", #""notification":{"title":"T"},"data":{"k":"alert"}"#)
        #expect(trial.received("sbx-apple-1").map(\.mark) == (arrives ? ["silent", "legacy", "alert"] : ["alert"]))
        #expect(try trial.dropped(.silent) == (arrives ? 0 : 2))
        #expect(trial.received("sbx-apple-1").last?.package == "app.demo")
        #expect(trial.received("sbx-apple-1").last?.appState.rawValue == state)
    }
}
