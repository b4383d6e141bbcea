import Testing

@testable import NGHTTP2Transport

@Suite struct ConnectionHealthTests {
    @Test func silenceIsAskedAboutAndThenGivenUp() {
        var health = ConnectionHealth(answerMs: 10_000, nowMs: 0)
        #expect(health.tick(isBusy: true, nowMs: 4_999) == .none)
        #expect(health.tick(isBusy: true, nowMs: 5_000) == .ping)
        #expect(health.tick(isBusy: true, nowMs: 14_999) == .none)
        #expect(health.tick(isBusy: true, nowMs: 15_000) == .giveUp)
    }

    @Test func anyByteIsASignOfLife() {
        var health = ConnectionHealth(answerMs: 10_000, nowMs: 0)
        #expect(health.tick(isBusy: true, nowMs: 5_000) == .ping)
        health.received(nowMs: 9_000)
        #expect(health.tick(isBusy: true, nowMs: 13_999) == .none)
        #expect(health.tick(isBusy: true, nowMs: 14_000) == .ping)
    }

    @Test func idleConnectionMayBeSilent() {
        var health = ConnectionHealth(answerMs: 10_000, nowMs: 0)
        #expect(health.tick(isBusy: false, nowMs: 60_000) == .none)
        #expect(health.tick(isBusy: true, nowMs: 64_999) == .none)
        #expect(health.tick(isBusy: true, nowMs: 65_000) == .ping)
    }

    @Test func idleTimeBeforeARequestIsNoSilence() {
        var health = ConnectionHealth(answerMs: 10_000, nowMs: 0)
        health.restart(nowMs: 60_000)
        #expect(health.tick(isBusy: true, nowMs: 64_999) == .none)
        #expect(health.tick(isBusy: true, nowMs: 65_000) == .ping)
        // A PING that is open stays so.
        health.restart(nowMs: 66_000)
        #expect(health.tick(isBusy: true, nowMs: 75_000) == .giveUp)
    }

    @Test func shortAnswerTimeShortensTheSilence() {
        var health = ConnectionHealth(answerMs: 1_500, nowMs: 0)
        #expect(health.tick(isBusy: true, nowMs: 1_500) == .ping)
        #expect(health.tick(isBusy: true, nowMs: 3_000) == .giveUp)
    }
}

@Suite struct OriginTests {
    @Test(arguments: [
        ("https://fcm.googleapis.com", "fcm.googleapis.com", 443), ("https://localhost:8443", "localhost", 8_443),
        ("https://[::1]:9", "::1", 9), ("https://[::1]", "::1", 443), ("https://h:0", "h", 0), ("https://h:x", "h", 0),
        ("https://h:70000", "h", 0), ("https://[::1", "[", 0),
    ])
    func originHasHostAndPort(row: (text: String, host: String, port: Int)) {
        let origin = Origin(row.text)
        #expect((origin.host, origin.port) == (row.host, row.port))
    }
}
