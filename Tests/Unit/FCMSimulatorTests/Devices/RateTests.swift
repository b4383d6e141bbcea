import FanfareJSON
import Testing

@testable import FCMSimulator

@Suite struct RateTests {
    @Test func `the 241st message of a device's minute is refused, with the error of v1`() throws {
        var trial = Trial()
        for _ in 0..<240 { #expect(trial.send("a").status == 200) }
        trial.nowMs += 15_000
        let refused = trial.send("a")
        #expect(refused.status == 429)
        #expect(refused.header("retry-after") == "45")
        #expect(try refused.fcmError() == "QUOTA_EXCEEDED")
        #expect(try refused.detail("QuotaFailure") != nil)
        #expect(try refused.detail("ErrorInfo") == nil)
        #expect(trial.send("b").status == 200)
        trial.nowMs += 45_000
        #expect(trial.send("a").status == 200)
    }

    @Test func `equal tokens of a multicast count as one device, and legacy has its own code`() throws {
        var trial = Trial()
        let list = Array(repeating: "\"a\"", count: 250).joined(separator: ",")
        let results = try trial.legacy(#"{"registration_ids":[\#(list),"b"]}"#).results()
        #expect(results.prefix(240).allSatisfy { $0 == "ok" })
        #expect(Set(results[240..<250]) == ["DeviceMessageRateExceeded"])
        #expect(results.last == "ok")
        #expect(try trial.statistic("accepted") == 241)
    }

    @Test func `a device accepts 5,000 messages in an hour`() throws {
        var trial = Trial()
        let started = trial.nowMs
        var accepted = 0
        for _ in 0..<22 {
            for _ in 0..<240 where trial.send("a").status == 200 { accepted += 1 }
            trial.nowMs += 60_000
        }
        #expect(accepted == 5_000)
        let refused = trial.send("a")
        #expect(refused.status == 429)
        #expect(refused.header("retry-after") == String(3_600 - (trial.nowMs - started) / 1_000))
        trial.nowMs = started + 3_600_000
        // The access token has to be new by then.
        #expect(try trial.legacy(#"{"to":"a"}"#).results() == ["ok"])
    }

    @Test func `83 messages a minute for two hours are never refused`() {
        var buckets = DeviceBuckets()
        for minute in 0..<120 {
            for _ in 0..<83 { #expect(buckets.consume("a", nowMs: Int64(minute) * 60_000) == nil) }
        }
    }

    @Test func `Apple and web devices, and validations, are not counted`() {
        var trial = Trial()
        for _ in 0..<300 {
            #expect(trial.send("sbx-apple-1").status == 200)
            #expect(trial.send("sbx-web-1").status == 200)
            #expect(trial.v1(#"{"validate_only":true,"message":{"token":"a"}}"#).status == 200)
        }
        #expect(trial.send("a").status == 200)
    }

    @Test func `a token with one message is forgotten a minute later`() {
        var buckets = DeviceBuckets()
        for index in 0..<100_000 { #expect(buckets.consume("t\(index)", nowMs: 0) == nil) }
        for _ in 0..<100 { #expect(buckets.consume("busy", nowMs: 1) == nil) }
        #expect(buckets.watchedCount == 100_002)
        #expect(buckets.consume("last", nowMs: 60_001) == nil)
        // The busy one's hour, and the last one's minute.
        #expect(buckets.watchedCount == 2)
        #expect(buckets.consume("last", nowMs: 4_000_000) == nil)
        #expect(buckets.watchedCount == 1)
    }

    @Test func `the project's quota is refilled in full a minute after its first use`() throws {
        var trial = Trial(quotaPerMinute: 10)
        for index in 0..<10 { #expect(trial.send("t\(index)").status == 200) }
        trial.nowMs += 20_500
        let refused = trial.send("t")
        #expect(refused.status == 429)
        #expect(refused.header("retry-after") == "40")
        #expect(try refused.detail("ErrorInfo")?["reason"] == "RATE_LIMIT_EXCEEDED")
        #expect(try refused.fcmError() == nil)
        trial.nowMs += 39_500
        let list = Array(repeating: "\"a\"", count: 11).joined(separator: ",")
        #expect(trial.legacy(#"{"registration_ids":[\#(list)]}"#).status == 503)
        for index in 0..<10 { #expect(trial.send("t\(index)").status == 200) }
        #expect(try trial.statistic("quota_rejections") == 2)
        let report = try #require(try trial.control("GET", "/quota").json()["demo"]?.object)
        #expect(report["limit"] == 10)
        let windows = report["windows"]?.array?.compactMap(\.object) ?? []
        #expect(windows.map { $0["used"] } == [10, 10])
        #expect(windows.map { $0["refused"] } == [1, 11])
        #expect(windows.last?["started_ms"]?.number?.int64 == trial.nowMs)
    }

    @Test func `refused messages count against the quota unless the status is 429`() {
        var trial = Trial(quotaPerMinute: 3)
        #expect(trial.send("sbx-quota-9-a").status == 429)
        #expect(trial.send(topic: "sbx-topicrate-9-a").status == 429)
        #expect(trial.send("sbx-unregistered-1").status == 404)
        #expect(trial.v1("{}").status == 400)
        #expect(trial.send("a").status == 200)
        #expect(trial.send("a").header("retry-after") == "60")
    }
}
