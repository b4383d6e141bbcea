import FCMSimulator
import FanfareJSON
import Testing

@Suite struct PrefixTests {
    @Test(arguments: [("unavailable", 503), ("internal", 500), ("quota", 429), ("devicerate", 429)])
    func `a retryable error occurs N times and never again`(word: String, status: Int) {
        var trial = Trial()
        let replies = (0..<5).map { _ in trial.send("sbx-\(word)-3-x") }
        #expect(replies.map(\.status) == [status, status, status, 200, 200])
        #expect(replies[0].header("retry-after") == "1")
        #expect(replies[3].header("retry-after") == nil)
    }

    @Test func `tokens with the same prefix are counted separately on every transport`() throws {
        var trial = Trial()
        #expect(trial.send("sbx-unavailable-1-a").status == 503)
        #expect(trial.send("sbx-unavailable-1-b").status == 503)
        #expect(try trial.legacy(#"{"to":"sbx-unavailable-1-a"}"#).results() == ["ok"])
    }

    @Test func `bare errors carry no Retry-After`() {
        var trial = Trial(bareErrors: true)
        #expect(trial.send("sbx-unavailable-1-a").header("retry-after") == nil)
        #expect(trial.legacy(#"{"to":"sbx-unavailable-1-b"}"#).header("retry-after") == nil)
    }

    @Test func `a slow token delays the answer, and the slowest of a multicast counts`() {
        var trial = Trial()
        #expect(trial.send("sbx-slow-250-a").delayMs == 250)
        let reply = trial.legacy(#"{"registration_ids":["a","sbx-slow-40-a","sbx-slow-70-b"]}"#)
        #expect(reply.delayMs == 70)
    }

    @Test func `a message with a lost answer is delivered, and again when it is repeated`() throws {
        var trial = Trial()
        #expect(trial.send("sbx-lost-1-a").wire == .reset(code: 2))
        #expect(try trial.deliveries("sbx-lost-1-a").count == 1)
        #expect(trial.send("sbx-lost-1-a").wire == nil)
        #expect(try trial.deliveries("sbx-lost-1-a").count == 2)
        #expect(try trial.statistic("duplicates") == 1)
    }

    @Test(arguments: [
        "sbx-unavailable-x-1", "sbx-unavailable-2", "sbx-other-1", "sbx-", "SBX-invalid-1", "sbx-lost--1",
    ])
    func `any other token is a healthy device`(token: String) {
        var trial = Trial()
        #expect(trial.send(token).status == 200)
        #expect(trial.send(token).wire == nil)
    }

    @Test func `a send to sbx-topicrate-N is refused N times`() throws {
        var trial = Trial()
        let body = #"{"message":{"topic":"sbx-topicrate-2-x"}}"#
        let replies = (0..<3).map { _ in trial.v1(body) }
        #expect(replies.map(\.status) == [429, 429, 200])
        #expect(try replies[0].error()["message"] == "Topic quota exceeded.")
        #expect(try replies[0].fcmError() == "QUOTA_EXCEEDED")
    }

    @Test func `duplicates are counted exactly beyond the limit of stored deliveries`() throws {
        var trial = Trial(deliveryLimit: 10)
        for round in 0..<3 {
            for index in 0..<(1_000 - round * 100) { _ = trial.send("t\(index)") }
        }
        #expect(try trial.statistic("accepted") == 2_700)
        #expect(try trial.statistic("duplicates") == 1_700)
        #expect(try trial.statistic("requests") == 2_701)
        #expect(trial.control("GET", "/deliveries").text.split(separator: "\n").count == 10)
        #expect(try trial.deliveries("t799").count == 1)
        trial.control("POST", "/reset")
        _ = trial.send("t0")
        #expect(try trial.statistic("duplicates") == 0)
        #expect(try trial.statistic("accepted") == 1)
    }
}
