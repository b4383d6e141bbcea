import FanfareJSON
import Testing

@testable import FCMSimulator

/// The quotas and the statistics alone.
@Suite struct SendQuotasTests {
    @Test func `a project's minute starts with its first message and is refilled in full`() {
        var quotas = SendQuotas(perMinute: 10)
        #expect(quotas.consume(10, project: "a", nowMs: 5_000) == true)
        #expect(quotas.consume(1, project: "a", nowMs: 64_999) == false)
        #expect(quotas.secondsLeft(project: "a", nowMs: 64_999) == 1)
        #expect(quotas.consume(10, project: "b", nowMs: 64_999) == true)
        #expect(quotas.consume(10, project: "a", nowMs: 65_000) == true)
        #expect(quotas.rejectedCount == 1)
    }

    @Test func `a restored message can be sent`() {
        var quotas = SendQuotas(perMinute: 1)
        #expect(quotas.consume(1, project: "a", nowMs: 0) == true)
        quotas.restore(project: "a")
        #expect(quotas.consume(1, project: "a", nowMs: 1) == true)
        #expect(quotas.consume(1, project: "a", nowMs: 2) == false)
    }

    @Test func `the report lists the use and refusals of each window`() {
        var quotas = SendQuotas(perMinute: 1)
        for nowMs in [Int64(0), 1, 60_000] { _ = quotas.consume(1, project: "a", nowMs: nowMs) }
        #expect(
            JSONValue.object(quotas.report).jsonText
                == #"{"a":{"limit":1,"windows":[{"started_ms":0,"used":1,"refused":1},"#
                + #"{"started_ms":60000,"used":1,"refused":0}]}}"#
        )
    }

    @Test func `a reset of the statistics keeps the open connections`() {
        var statistics = Statistics()
        for _ in 0..<3 { statistics.connectionOpened() }
        statistics.openConnections -= 1
        statistics.reset()
        #expect(statistics.openConnections == 2)
        #expect(statistics.connections == 0)
    }

    @Test func `an accepted send to a token after its first is a duplicate`() {
        var statistics = Statistics()
        for token in ["a", "b", "a", "a"] { statistics.countAccepted(token: token) }
        #expect(statistics.accepted == 4)
        #expect(statistics.duplicates == 2)
    }
}
