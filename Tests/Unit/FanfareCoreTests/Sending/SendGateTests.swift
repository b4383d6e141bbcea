import FanfareModel
import Testing

@testable import FanfareCore

@Suite struct SendGateTests {
    private static let failure = Failure(
        error: .unspecified,
        action: .fixCredentials,
        rawError: "denied",
        httpStatus: 401
    )
    private static let most = 10

    /// A reason, what brings it about, and the scopes that it stops; in the order of precedence.
    struct Cause: CustomTestStringConvertible, Sendable {
        var reason: SendGate.Reason
        var scopes: [SendGate.Scope]
        var bring: @Sendable (inout SendGate) -> Void

        var testDescription: String { reason.description }
    }

    static let causes: [Cause] = [
        Cause(reason: .draining, scopes: [.sending, .claiming, .intake]) { $0.isDraining = true },
        Cause(reason: .leaseLost, scopes: [.sending, .claiming, .intake]) { $0.resources.leaseHolds = false },
        Cause(reason: .redisNotReady, scopes: [.sending, .claiming, .intake]) { $0.isReady = false },
        Cause(reason: .paused("why"), scopes: [.sending]) { $0.pauseReason = "why" },
        Cause(reason: .pressure("memory"), scopes: [.sending]) { $0.pressure = "memory" },
        // Another project's batch: it keeps this one from sending.
        Cause(reason: .quarantine, scopes: [.sending]) { $0.resources.isQuarantineOpen = false },
        Cause(reason: .quarantine, scopes: [.intake]) { $0.resources.isQuarantineHeld = true },
        Cause(reason: .newsStale, scopes: [.sending]) { $0 = stale($0) },
        Cause(reason: .uncommitted, scopes: [.sending]) { $0.uncommitted = most },
        Cause(reason: .held(untilNs: 5_000_000_000), scopes: [.sending, .intake]) {
            $0.hold(milliseconds: 5_000, now: 0)
        },
        Cause(reason: .credentialPending, scopes: [.sending]) { $0.resources.credential = .pending },
        Cause(reason: .credentialFailed(failure), scopes: [.sending]) { $0.resources.credential = .failed(failure) },
        Cause(reason: .credentialStuck, scopes: [.intake]) { $0.resources.isCredentialStuck = true },
        // A blocked project claims and sends its probe.
        Cause(reason: .blocked("HTTP 403"), scopes: [.intake]) { $0.block("HTTP 403", now: 0) },
    ]
    static let scopes: [SendGate.Scope] = [.sending, .claiming, .intake]

    private func gate() -> SendGate {
        var gate = SendGate(maximumUncommitted: Self.most)
        gate.isReady = true
        gate.newsCame(askedNs: 0)
        return gate
    }

    /// The same gate before any news.
    private static func stale(_ gate: SendGate) -> SendGate {
        var stale = SendGate(maximumUncommitted: most)
        stale.resources = gate.resources
        (stale.isDraining, stale.isReady) = (gate.isDraining, gate.isReady)
        (stale.pauseReason, stale.pressure, stale.uncommitted) = (gate.pauseReason, gate.pressure, gate.uncommitted)
        if gate.heldUntil > 0 { stale.hold(milliseconds: Int64(gate.heldUntil / 1_000_000), now: 0) }
        if let reason = gate.blockReason { stale.block(reason, now: gate.blockedAt) }
        return stale
    }

    // MARK: News

    /// The age of news is that of the question, and an earlier question's answer makes no later one older.
    @Test func newsLastASecondFromTheirQuestion() {
        var gate = SendGate(maximumUncommitted: Self.most)
        gate.isReady = true
        #expect(gate.reason(for: .sending, now: 0) == .newsStale)
        gate.newsCame(askedNs: 5_000_000_000)
        #expect(gate.reason(for: .sending, now: 5_999_999_999) == nil)
        #expect(gate.reason(for: .sending, now: 6_000_000_000) == .newsStale)
        #expect(gate.reason(for: .claiming, now: 6_000_000_000) == nil, "a claim brings the next news")
        gate.newsCame(askedNs: 1_000_000_000)
        #expect(gate.newsAskedNs == 5_000_000_000)
        gate.newsCame(askedNs: .max)
        #expect(gate.reason(for: .sending, now: .max - 1) == nil, "no time traps")
    }

    @Test func anOpenGateStopsNothing() {
        for scope in Self.scopes { #expect(gate().reason(for: scope, now: 0) == nil) }
    }

    @Test func aNewGateWaitsForRedis() {
        for scope in Self.scopes {
            #expect(SendGate(maximumUncommitted: 1).reason(for: scope, now: 0) == .redisNotReady)
        }
    }

    @Test(arguments: causes)
    func eachReasonStopsItsScopes(cause: Cause) {
        var gate = gate()
        cause.bring(&gate)
        for scope in Self.scopes {
            #expect(gate.reason(for: scope, now: 0) == (cause.scopes.contains(scope) ? cause.reason : nil), "\(scope)")
        }
    }

    /// Whatever else holds, the first in the table is the one that is said.
    @Test func theFirstReasonIsSaid() {
        for (first, cause) in Self.causes.enumerated() {
            for later in Self.causes[first...] {
                var gate = gate()
                later.bring(&gate)
                cause.bring(&gate)
                for scope in cause.scopes {
                    #expect(gate.reason(for: scope, now: 0) == cause.reason, "\(later.reason)")
                }
            }
        }
    }

    @Test func aReasonIsDescribedToPeople() {
        let texts = Set(Self.causes.map(\.reason.description))
        #expect(texts.count == Self.causes.count - 2, "quarantine stands twice, and one token is waited for twice")
        #expect(SendGate.Reason.full.description == "this worker is full")
        #expect(SendGate.Reason.credentialFailed(Self.failure).description == "credentials: denied")
    }

    // MARK: Holds

    @Test func aHoldEndsAtItsTime() {
        var gate = gate()
        gate.hold(milliseconds: 100, now: 1_000_000)
        #expect(gate.isHeld(now: 100_999_999) && !gate.isHeld(now: 101_000_000))
        #expect(gate.reason(for: .sending, now: 101_000_000) == nil)
    }

    @Test func aShorterHoldDoesNotEndALongerOne() {
        var gate = gate()
        gate.hold(milliseconds: 100, now: 0)
        gate.hold(milliseconds: 10, now: 0)
        #expect(gate.heldUntil == 100_000_000)
    }

    @Test(arguments: [0, -1, Int64.min])
    func aHoldOfNoLengthHoldsNothing(milliseconds: Int64) {
        var gate = gate()
        gate.hold(milliseconds: milliseconds, now: 7)
        #expect(gate.heldUntil == 0)
    }

    @Test func noHoldIsLongerThanSixHours() {
        var gate = gate()
        gate.hold(milliseconds: .max, now: 0)
        #expect(gate.heldUntil == 6 * 3_600 * 1_000_000_000)
    }

    // MARK: The bound of uncommitted results

    @Test func sendsWaitAtTheBoundOfUncommittedResults() {
        var gate = gate()
        gate.uncommitted = Self.most - 1
        #expect(gate.reason(for: .sending, now: 0) == nil)
        gate.uncommitted = Self.most
        #expect(gate.reason(for: .sending, now: 0) == .uncommitted)
    }

    // MARK: Blocks

    @Test func blockTimeIsThatOfTheLastWrite() {
        var gate = gate()
        gate.block("why", now: 5)
        #expect(gate.blockReason == "why" && gate.blockedAt == 5)
        gate.blockWritten(now: 9)
        #expect(gate.blockedAt == 9)
        gate.unblock()
        #expect(gate.blockReason == nil && gate.blockedAt == 9)
    }
}
