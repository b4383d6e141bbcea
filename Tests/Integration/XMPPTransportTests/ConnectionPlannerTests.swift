import Testing

@testable import XMPPTransport

@Suite struct ConnectionPlannerTests {
    private func planner(most: Int = 10, least: Int = 1) -> ConnectionPlanner {
        var configuration = XMPPConfiguration(host: "h", port: 1, senderID: "1", serverKey: "k")
        configuration.maximumConnections = most
        configuration.leastConnections = least
        return ConnectionPlanner(configuration)
    }

    @Test(arguments: [
        (queued: 0, ready: 0, opening: 0, wanted: 1), (0, 1, 0, 0), (0, 0, 1, 0), (1, 1, 0, 1), (100, 1, 0, 1),
        (101, 1, 0, 2), (150, 1, 1, 1), (5_000, 1, 0, 4), (5_000, 1, 3, 1), (5_000, 9, 0, 1), (5_000, 10, 0, 0),
        (5_000, 6, 4, 0),
    ])
    func demandDecidesTheNumberOfConnections(queued: Int, ready: Int, opening: Int, wanted: Int) {
        #expect(planner().wanted(queued: queued, ready: ready, opening: opening, nowMs: 0) == wanted)
    }

    @Test func pendingPermitCountsAsAConnection() {
        var planner = planner()
        planner.requestedPermit()
        #expect(planner.wanted(queued: 100, ready: 0, opening: 0, nowMs: 0) == 0)
        planner.answeredPermit(false, nowMs: 0, random: 0)
        #expect(planner.wanted(queued: 100, ready: 0, opening: 0, nowMs: 2_499) == 0)
        #expect(planner.wanted(queued: 100, ready: 0, opening: 0, nowMs: 2_500) == 1)
        #expect(planner.failures == 0)
    }

    @Test func pausesDoubleToAMinuteAndAreNeverZero() {
        var planner = planner()
        var nowMs: Int64 = 0
        var pauses: [Int64] = []
        for _ in 0..<40 {
            planner.failed(servedMs: nil, isRefused: false, nowMs: nowMs, random: 0)
            pauses.append(planner.nextOpeningMs - nowMs)
            nowMs = planner.nextOpeningMs
        }
        #expect(Array(pauses.prefix(8)) == [500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000])
        #expect(pauses.allSatisfy { $0 <= 60_000 })
        planner.failed(servedMs: nil, isRefused: false, nowMs: nowMs, random: 0.999)
        #expect((59_000...60_000).contains(planner.nextOpeningMs - nowMs))
        // One at a time until one holds.
        nowMs = planner.nextOpeningMs
        #expect(planner.wanted(queued: 5_000, ready: 0, opening: 0, nowMs: nowMs) == 1)
        #expect(planner.promised(ready: 0, opening: 0, nowMs: nowMs) == 100)
    }

    @Test func onlyAConnectionThatServedResetsTheFailures() {
        var planner = planner()
        for _ in 0..<5 { planner.failed(servedMs: 100, isRefused: false, nowMs: 0, random: 0) }
        #expect(planner.failures == 5)
        planner.failed(servedMs: 5_000, isRefused: false, nowMs: 100_000, random: 0.5)
        #expect(planner.failures == 0)
        #expect(planner.nextOpeningMs == 100_500)
    }

    @Test func connectionDrainedAtOnceIsAFailureUnlessItServed() {
        var planner = planner()
        planner.drained(servedMs: 5_000, nowMs: 0, random: 0)
        #expect(planner.failures == 0 && !planner.isPausing(nowMs: 0))
        var nowMs: Int64 = 0
        var pauses: [Int64] = []
        for _ in 0..<4 {
            planner.drained(servedMs: 4_999, nowMs: nowMs, random: 0)
            // Others that are drained with it.
            planner.drained(servedMs: 0, nowMs: nowMs, random: 0)
            pauses.append(planner.nextOpeningMs - nowMs)
            nowMs = planner.nextOpeningMs
        }
        #expect(pauses == [500, 1_000, 2_000, 4_000])
        planner.drained(servedMs: 60_000, nowMs: nowMs, random: 0)
        #expect(planner.failures == 0)
    }

    @Test func refusedCredentialWaitsTheLongestPause() {
        var planner = planner()
        planner.failed(servedMs: nil, isRefused: true, nowMs: 0, random: 0)
        #expect(planner.nextOpeningMs == 30_000)
    }

    @Test func promisedMessagesFitTheConnectionsToCome() {
        #expect(planner().promised(ready: 0, opening: 0, nowMs: 0) == 1_000)
        #expect(planner().promised(ready: 9, opening: 0, nowMs: 0) == 100)
        #expect(planner().promised(ready: 10, opening: 0, nowMs: 0) == 0)
        #expect(planner(most: 1).promised(ready: 0, opening: 1, nowMs: 0) == 100)
    }
}
