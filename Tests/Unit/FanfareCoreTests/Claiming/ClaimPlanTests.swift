import Testing

@testable import FanfareCore
@testable import StreamWire

@Suite struct ClaimPlanTests {
    private static let call: ClaimCall = {
        var call = ClaimCall(
            worker: "w",
            most: 1,
            wanted: 1,
            wantedSingle: 1,
            window: 1,
            retries: 1,
            quotaPerMinute: 600
        )
        call.permitsSingle = 3
        call.permitsFanout = 2
        return call
    }()

    /// A plan whose claim is in flight.
    private func asking() -> ClaimPlan {
        var plan = ClaimPlan(pollMs: 20, idlePollMs: 500, quietPollMs: 9_000)
        plan.sent(Self.call)
        return plan
    }

    @Test func planHasOneClaimInFlight() {
        var plan = ClaimPlan(pollMs: 20, idlePollMs: 500, quietPollMs: 9_000)
        #expect(!plan.isAsking && !plan.foundNothing)
        plan.sent(Self.call)
        #expect(plan.isAsking)
        #expect(plan.failed() == .after(milliseconds: 20) && !plan.isAsking)
    }

    /// What an answer says → when the next claim is due.
    struct Row: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var next: ClaimPlan.Next
        var unsent = 0
        var holdsBatches = false
        var isStarved = false
        var change: @Sendable (inout ClaimReply) -> Void = { _ in }
    }

    static let rows = [
        Row(testDescription: "nothing, and no job", next: .after(milliseconds: 9_000)) { $0.unfinished = 0 },
        Row(testDescription: "no job, and an operator's pause", next: .after(milliseconds: 500)) {
            $0.unfinished = 0
            $0.pauseReason = "why"
        },
        Row(testDescription: "nothing, with jobs", next: .after(milliseconds: 20)) { $0.unfinished = 1 },
        Row(testDescription: "nothing, with batches at hand", next: .after(milliseconds: 20), holdsBatches: true) {
            $0.unfinished = 0
        },
        Row(testDescription: "a batch", next: .now) { $0.claims = [.of()] },
        Row(testDescription: "a retry is due before the next poll", next: .after(milliseconds: 7)) {
            $0.nowMs = 1_000
            $0.nextDueMs = 1_007
        },
        Row(testDescription: "a retry is due after it", next: .after(milliseconds: 20)) {
            $0.nowMs = 1_000
            $0.nextDueMs = 9_000
        },
        Row(testDescription: "a retry was due already", next: .after(milliseconds: 20)) {
            $0.nowMs = 1_000
            $0.nextDueMs = 1_000
        },
        Row(testDescription: "as much news as an answer holds", next: .now) {
            $0.news = [News](repeating: .stop(job: "j", epoch: 1), count: 500)
        },
        Row(testDescription: "some news", next: .after(milliseconds: 20)) { $0.news = [.stop(job: "j", epoch: 1)] },
        Row(testDescription: "all permits, while sends wait", next: .now, unsent: 1, isStarved: true) {
            $0.permits = 5
        },
        Row(testDescription: "too few permits", next: .after(milliseconds: 20), unsent: 1, isStarved: true) {
            $0.permits = 4
        },
        Row(testDescription: "all permits, nothing to send", next: .after(milliseconds: 20), isStarved: true) {
            $0.permits = 5
        },
        Row(testDescription: "all permits, no send waited", next: .after(milliseconds: 20), unsent: 1) {
            $0.permits = 5
        },
    ]

    @Test(arguments: rows)
    func nextClaimIsDueAsTheAnswerImplies(row: Row) {
        var plan = asking()
        if row.isStarved { #expect(plan.starved() == nil, "the answer that is awaited leads to the next claim") }
        let next = plan.answered(.empty(change: row.change), unsent: row.unsent, holdsBatches: row.holdsBatches)
        #expect(next == row.next && !plan.isAsking)
    }

    /// Each of them would else be claimed alone, and cost as much as many.
    @Test func retriesThatAreDueAfterARetryAreClaimedTogether() {
        var plan = asking()
        func answered(_ claims: [Claim], dueInMs: Int64) -> ClaimPlan.Next {
            plan.sent(Self.call)
            let reply = ClaimReply.empty { ($0.claims, $0.nowMs, $0.nextDueMs) = (claims, 1_000, 1_000 + dueInMs) }
            return plan.answered(reply, unsent: 0, holdsBatches: true)
        }
        #expect(answered([.of { $0.pass = .retry }], dueInMs: 7) == .now)
        #expect(answered([], dueInMs: 7) == .after(milliseconds: 20))
        #expect(answered([], dueInMs: 7) == .after(milliseconds: 7))
    }

    @Test func starvedSendsMakeAClaimDueAtOnce() {
        var plan = ClaimPlan(pollMs: 20, idlePollMs: 500, quietPollMs: 9_000)
        #expect(plan.starved() == .after(milliseconds: 0))
    }

    /// There were too few a moment ago.
    @Test func afterTooFewPermitsSendsWaitALittle() {
        var plan = asking()
        _ = plan.answered(.empty(permits: 4), unsent: 1, holdsBatches: true)
        #expect(plan.starved() == .after(milliseconds: 10))
        plan.sent(Self.call)
        #expect(plan.starved() == .after(milliseconds: 10), "the answer does not lead to the next claim at once")
    }

    @Test func aPlanRemembersWhetherTheProjectHasJobs() {
        var plan = asking()
        _ = plan.answered(.empty { $0.unfinished = 0 }, unsent: 0, holdsBatches: false)
        #expect(plan.foundNothing)
        plan.sent(Self.call)
        #expect(!plan.foundNothing)
    }

    @Test(arguments: [
        "calm", "open", "pause", "pressure", "hold", "block", "suspect", "copying", "window", "batches", "claims",
    ])
    func projectIsQuietWhenNothingIsToBeDone(cause: String) {
        var plan = asking()
        let reply = ClaimReply.empty {
            $0.unfinished = cause == "open" ? 1 : 0
            if cause == "pause" { $0.pauseReason = "why" }
            if cause == "pressure" { $0.pressure = "memory" }
            if cause == "hold" { $0.holdMs = 1 }
            if cause == "block" { $0.probeMs = 1 }
            if cause == "suspect" { $0.suspect = .shared }
            if cause == "copying" { $0.copying = "j" }
            if cause == "window" { $0.closedWindow = ClosedWindow(job: "j", window: "w") }
            if cause == "claims" { $0.claims = [.of()] }
        }
        _ = plan.answered(reply, unsent: 0, holdsBatches: cause == "batches")
        #expect(plan.isQuiet == (cause == "calm"))
        plan.sent(Self.call)
        #expect(!plan.isQuiet)
    }

    @Test func aPlanReadsNewsWhereItStopped() {
        var plan = asking()
        _ = plan.answered(
            .empty {
                $0.newsCursor = "5-0"
                $0.refusedCursor = "6-0"
            },
            unsent: 0,
            holdsBatches: false
        )
        #expect(plan.newsCursor == "5-0" && plan.refusedCursor == "6-0")
        plan.registered(newsCursor: "9-0")
        #expect(plan.newsCursor == "9-0" && plan.refusedCursor == "6-0")
        plan.readNewsAgain()
        #expect(plan.newsCursor == "0" && plan.refusedCursor == "0")
    }
}
