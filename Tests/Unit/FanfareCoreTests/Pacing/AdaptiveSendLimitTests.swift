import FanfareModel
import Testing

@testable import FanfareCore

@Suite struct AdaptiveSendLimitTests {
    private static let failure = Failure(error: .unavailable, action: .none, httpStatus: 503)

    private static func retry(_ cause: Retry.Cause = .answered, _ scope: Retry.Scope = .recipient) -> Verdict {
        .retry(Retry(failure: failure, cause: cause, scope: scope))
    }

    /// Whether FCM, or the network, had too much to do.
    @Test(
        arguments: [
            (.sent(messageID: "", canonical: nil), false),
            (.sentPartly(messageID: "", failedTokens: ["a"]), false),
            (.managed(group: "g"), false),
            (.failed(failure), false),
            (.refreshCredential(failure), false),
            (.blockProject(failure), false),
            (.unknown(failure, retryAfterMs: nil), true),
            (retry(.answered), true),
            (retry(.unanswered), true),
            (retry(.refused), true),
            (retry(.unsent), false),
            (retry(.answered, .project), true),
            (retry(.answered, .device), false),
            (retry(.answered, .topic), false),
        ] as [(Verdict, Bool)]
    )
    func aVerdictIsASignOfOverloadOrNot(verdict: Verdict, isOverload: Bool) {
        #expect(verdict.isOverload == isOverload)
    }

    private func limit() -> AdaptiveSendLimit { AdaptiveSendLimit(maximumInFlight: 100, retryPercent: 10) }

    private func answer(_ limit: inout AdaptiveSendLimit, _ verdicts: [Verdict], times: Int) {
        for number in 0..<times {
            let now = UInt64(number + 1) * 200_000_000
            limit.answered(verdicts, startedNs: now - 1_000_000, inFlight: limit.limit, now: now)
        }
    }

    @Test func signsOfOverloadLowerTheLimit() {
        var limit = limit()
        let before = limit.limit
        answer(&limit, [Self.retry()], times: 40)
        #expect(limit.isOverloaded && limit.limit < before)
    }

    /// A peer that never ends its answers would otherwise get ever more of them to hold.
    @Test func cutAnswersNeverRaiseTheLimit() {
        let sent = [Verdict.sent(messageID: "", canonical: nil)]
        var whole = AdaptiveSendLimit(maximumInFlight: 1_000, retryPercent: 10)
        var cut = whole
        let before = cut.limit
        for number in 0..<400 {
            let now = UInt64(number + 1) * 200_000_000
            whole.answered(sent, startedNs: now - 1_000_000, inFlight: whole.limit, now: now)
            cut.answered(sent, isCut: true, startedNs: now - 1_000_000, inFlight: cut.limit, now: now)
            #expect(cut.limit <= before)
        }
        #expect(whole.limit > before && cut.limit == 1 && cut.isOverloaded)
    }

    /// Sends then continue at ten a second.
    @Test func cutAnswersPayForNoSend() {
        var limit = limit()
        for _ in 0..<200 { limit.sent(isRetry: false, now: 0) }
        limit.answered([.sent(messageID: "", canonical: nil)], isCut: true, startedNs: 0, inFlight: 1, now: 0)
        #expect(!limit.maySend(now: 0))
    }

    @Test func fewCutAnswersChangeNothing() {
        var limit = limit()
        answer(&limit, [.sent(messageID: "", canonical: nil)], times: 100)
        let now: UInt64 = 100 * 200_000_000
        for _ in 0..<5 {
            limit.answered([.sent(messageID: "", canonical: nil)], isCut: true, startedNs: now, inFlight: 1, now: now)
        }
        #expect(!limit.isOverloaded && limit.limit == 100)
    }

    /// It says nothing about FCM.
    @Test func aRequestThatNeverLeftTeachesNothing() {
        var limit = limit()
        let before = limit.limit
        answer(&limit, [Self.retry(.unsent), Self.retry(.unsent)], times: 40)
        #expect(!limit.isOverloaded && limit.limit == before)
    }

    /// One overloaded recipient of a multicast is enough.
    @Test func oneSignAmongManyCounts() {
        var limit = limit()
        answer(&limit, [.sent(messageID: "", canonical: nil), Self.retry()], times: 40)
        #expect(limit.isOverloaded)
    }

    @Test func sendsStopWhileFCMRefusesMostOfThem() {
        var limit = limit()
        for _ in 0..<200 { limit.sent(isRetry: false, now: 0) }
        #expect(!limit.maySend(now: 0) && limit.nextAt(now: 0) == 100_000_000)
        #expect(limit.maySend(now: limit.nextAt(now: 0)))
        limit.answered([.sent(messageID: "", canonical: nil)], startedNs: 0, inFlight: 1, now: 0)
        #expect(limit.maySend(now: 0) && limit.nextAt(now: 5) == 5)
    }

    @Test func retriesAreCountedAgainstTheirBudget() {
        var limit = limit()
        #expect(limit.retryRoom(now: 0) == 100)
        for _ in 0..<100 { limit.sent(isRetry: true, now: 0) }
        #expect(limit.retryRoom(now: 0) == 0)
    }
}
