import FanfareJSON
import Testing

@testable import FCMSimulator

@Suite struct DeviceRequestTests {
    @Test(arguments: [
        (#"{"token":"a b"}"#, "token"), (#"{"token":1}"#, "token"), (#"{"token":"a","color":"red"}"#, "color"),
        (#"{"token":"a","platform":"ios"}"#, "platform"), (#"{"token":"a","state":"dead"}"#, "state"),
        (#"{"token":"a","package":""}"#, "package"), (#"{"token":"a","package":"x","bundle":"y"}"#, "bundle"),
        (#"{"token":"a","senders":"1"}"#, "senders"), (#"{"token":"a","senders":["x y"]}"#, "senders"),
        (#"{"token":"a","app_state":"force_quit"}"#, "app_state"),
        (#"{"token":"a","platform":"apple","app_state":"doze"}"#, "app_state"),
        (#"{"token":"a","platform":"web","app_state":"low_power"}"#, "app_state"),
        (#"{"token":"a","online":1}"#, "online"), (#"{"token":"a","inactive_days":-1}"#, "inactive_days"),
        (#"{"token":"a","inactive_days":31,"online":true}"#, "inactive_days"),
        (#"{"token":"a","normal_delay_ms":-1}"#, "normal_delay_ms"),
        (#"{"token":"a","normal_delay_ms":1e300}"#, "normal_delay_ms"),
        (#"{"token":"a","lowers_priority":"yes"}"#, "lowers_priority"),
        (#"{"token":"a","rate_per_minute":1}"#, "rate_per_minute"),
        (#"{"token":"a","platform":"apple","rate_per_minute":-1}"#, "rate_per_minute"),
        (#"{"token":"a","channels":[1]}"#, "channels"), (#"{"token":"a","topics":["a b"]}"#, "topics"),
        (#"{"token":"a","refreshed_to":"a"}"#, "refreshed_to"),
        (#"{"token":"a","refreshed_to":"taken"}"#, "refreshed_to"),
        (#"{"token":"a","old_token_works_ms":1}"#, "old_token_works_ms"),
        (#"{"token":"a","refreshed_to":"b","old_token_works_ms":-1}"#, "old_token_works_ms"),
        (#"{"tokn":"a","online":true}"#, "tokn"), (#"{"topic":"t","subscribers":1,"online":true}"#, "online"),
        (#"{"topic":"a b","subscribers":1}"#, "topic"), ("{}", "token, group or topic"),
        (#"{"online":true}"#, "token, group or topic"), (#"{"subscribers":1}"#, "token, group or topic"),
    ])
    func `an invalid field is refused by its name and changes nothing`(body: String, name: String) throws {
        var trial = Trial()
        try trial.device(#"{"token":"taken"}"#)
        let reply = trial.control("POST", "/devices", body)
        #expect(reply.status == 400)
        let error = try #require(try reply.json()["error"]?.string)
        #expect(error.hasPrefix(name + ":"), "\(error)")
        #expect(try trial.shown("a")["described"] == false)
    }

    @Test func `a second description changes the fields it names and no others`() throws {
        var trial = Trial()
        try trial.device(
            #"{"token":"a","package":"p","senders":["1","2"],"app_state":"background","normal_delay_ms":5,"#
                + #""topics":["t"],"channels":["news"],"lowers_priority":true}"#
        )
        try trial.device(#"{"token":"a","online":false}"#)
        trial.nowMs += 5
        try trial.device(#"{"token":"a","package":"q"}"#)
        var device = try trial.shown("a")
        #expect(device["package"] == "q")
        #expect(device["senders"] == .array(["1", "2"]))
        #expect(device["app_state"] == "background")
        #expect(device["normal_delay_ms"] == 5)
        #expect(device["lowers_priority"] == true)
        #expect(device["topics"] == .array(["t"]))
        #expect(device["channels"] == .array(["news"]))
        #expect(device["online"] == false)
        // Saying again that it is offline does not start its silence again.
        try trial.device(#"{"token":"a","online":false}"#)
        device = try trial.shown("a")
        #expect(device["offline_since_ms"]?.number?.int64 == trial.nowMs - 5)
    }

    @Test func `a change of platform drops fields of the old platform`() throws {
        var trial = Trial()
        try trial.device(#"{"token":"a","platform":"apple","app_state":"low_power","rate_per_minute":1}"#)
        try trial.device(#"{"token":"a","platform":"android"}"#)
        let device = try trial.shown("a")
        #expect(device["app_state"] == "foreground")
        #expect(device["rate_per_minute"] == nil)
    }

    @Test func `a token without a description is a healthy Android device`() throws {
        var trial = Trial()
        for (token, platform) in [("a", "android"), ("sbx-apple-1", "apple"), ("sbx-web-1", "web")] {
            let device = try trial.shown(token)
            #expect(device["described"] == false)
            #expect(device["platform"]?.string == platform)
            #expect(device["state"] == "healthy")
            #expect(device["online"] == true)
            #expect(device["app_state"] == "foreground")
            #expect(device["stored"] == .array([]))
        }
        #expect(trial.control("GET", "/devices").status == 400)
    }

    @Test func `a device's report lists its stored messages with their options`() throws {
        var trial = Trial()
        try trial.device(#"{"token":"a","online":false}"#)
        let reply = try trial.message(to: "a", #""android":{"ttl":"60s","collapse_key":"x","priority":"high"}"#).json()
        let stored = try #require(try trial.stored("a").first)
        #expect(reply["name"]?.string?.hasSuffix(stored["message_id"]?.string ?? "?") == true)
        #expect(stored["collapse_key"] == "x")
        #expect(stored["priority"] == "high")
        #expect(stored["accepted_ms"]?.number?.int64 == trial.nowMs)
        #expect(stored["expires_ms"]?.number?.int64 == trial.nowMs + 60_000)
    }
}
