import FanfareModel
import Testing

@testable import FanfareCore

@Suite struct ReachabilityTests {
    private static let second: UInt64 = 1_000_000_000
    private static let refused = Reason(.connection, code: "libcurl 7", "Failed to connect after 0 ms")

    private func observe(_ known: inout Reachability, _ outcome: RequestOutcome, at second: UInt64) {
        known.observe(outcome, of: .messages, nowMs: Int64(second) * 1_000, now: second * Self.second)
    }

    private func condition(_ known: Reachability, at second: UInt64) -> Reachability.Condition? {
        known.condition(of: .messages, now: second * Self.second)
    }

    @Test func serviceIsUnreachableAfterFiveSecondsOfFailures() {
        var known = Reachability()
        observe(&known, .unsent(reason: Self.refused), at: 100)
        #expect(condition(known, at: 110) == nil, "one failure proves nothing")
        observe(&known, .ambiguous(reason: Reason(.timeout, "no answer in time")), at: 104)
        #expect(condition(known, at: 104) == nil)
        let found = condition(known, at: 105)
        #expect(
            found
                == .init(service: .messages, name: "FCM", sinceMs: 100_000, cause: "no answer in time", kind: .timeout)
        )
        #expect("\(found!)" == "FCM cannot be reached since 1970-01-01T00:01:40.000Z: no answer in time")
        #expect(
            known.condition(of: .tokenEndpoint, now: 105 * Self.second) == nil && !known.isWithoutFailure(.messages)
        )
        #expect(condition(known, at: 254) != nil && condition(known, at: 255) == nil, "not tried for 150 s")
    }

    @Test(arguments: [200, 404, 503]) func anyAnswerEndsAnOutage(status: Int) {
        var known = Reachability()
        for second in 0...20 as ClosedRange<UInt64> { observe(&known, .unsent(reason: Self.refused), at: second) }
        #expect(condition(known, at: 20) != nil && !known.isAnswering(now: 20 * Self.second))
        observe(&known, .answered(HTTPAnswer(status: status)), at: 21)
        #expect(condition(known, at: 21) == nil && known.isWithoutFailure(.messages))
        #expect(known.isAnswering(now: 30 * Self.second))
        #expect(!known.isAnswering(now: 40 * Self.second), "too long ago")
        observe(&known, .unsent(reason: Self.refused), at: 22)
        #expect(
            condition(known, at: 26) == nil && known.isAnswering(now: 26 * Self.second),
            "one failure proves nothing"
        )
        observe(&known, .unsent(reason: Self.refused), at: 27)
        #expect(condition(known, at: 27) != nil && !known.isAnswering(now: 27 * Self.second))
    }

    /// On a slow machine answers come in bursts, with timeouts in between.
    @Test func timeoutsBesideAnswersAreNoOutage() {
        var known = Reachability()
        observe(&known, .answered(HTTPAnswer(status: 200)), at: 100)
        for second in 101...114 as ClosedRange<UInt64> {
            observe(&known, .ambiguous(reason: "no answer in time"), at: second)
            #expect(condition(known, at: second) == nil && known.isAnswering(now: second * Self.second))
        }
        #expect(condition(known, at: 116)?.sinceMs == 101_000, "no answer for more than 15 s")
        #expect(!known.isAnswering(now: 116 * Self.second))
        observe(&known, .answered(HTTPAnswer(status: 200)), at: 117)
        #expect(condition(known, at: 117) == nil && known.isAnswering(now: 117 * Self.second))
    }

    @Test func refusedStreamIsNeitherFailureNorAnswer() {
        var known = Reachability()
        for second in 0...20 as ClosedRange<UInt64> { observe(&known, .refused(reason: "GOAWAY"), at: second) }
        #expect(condition(known, at: 20) == nil && !known.isAnswering(now: 20 * Self.second))
    }

    @Test func causeOfAnEarlierFailureStays() {
        var known = Reachability()
        observe(&known, .unsent(reason: Reason(.name, code: "libcurl 6", "Could not resolve host")), at: 0)
        observe(&known, .unsent(reason: Reason(.unreachable, "the origin cannot be reached")), at: 6)
        #expect(condition(known, at: 6)?.cause == "Could not resolve host (libcurl 6)")
        #expect(condition(known, at: 6)?.kind == .name)
    }
}
