import FanfareModel
import Testing

@testable import FanfareCore
@testable import StreamWire

/// A device group of which FCM reached some members or none: the others are sent to one by one, in rounds.
@Suite struct GroupDeliveryTests {
    private typealias Rules = OutcomeRulesTests
    private static let sent = Verdict.sent(messageID: "m", canonical: nil)
    private static let unknown = Verdict.unknown(Rules.unavailable, retryAfterMs: nil)
    private static let dead = Verdict.failed(Rules.dead)
    private static let mismatch = Verdict.failed(
        Failure(error: .senderIDMismatch, action: .fixCredentials, httpStatus: 403)
    )
    private static let retry = Verdict.retry(Retry(failure: Rules.unavailable))

    private static let group = HeldRecipient(index: 3, value: "key")

    private func settle(_ verdict: Verdict, _ spec: JobSpec = .group(), ending: ResultStatus? = nil)
        -> OutcomeRules.Decision
    {
        Rules.rules.settle(
            verdict,
            Self.group,
            startedMs: Rules.nowMs,
            Rules.situation(spec, ending: ending),
            random: 0
        )
    }

    // MARK: The answer for the group

    @Test func membersThatWereNotReachedWaitForARound() throws {
        let decision = settle(.sentPartly(messageID: "m1", failedTokens: ["a", "b"]))
        #expect(Rules.short(decision) == "retry 10000 1")
        let progress = try #require(GroupProgress(decision.recipient.value))
        #expect(progress.key == "key" && progress.pending == ["a", "b"] && progress.isReached)
        #expect(progress.messageID == "m1")
    }

    @Test func unreachedGroupWaitsAsItsAnswerAsks() throws {
        var refusal = Retry(failure: Rules.unavailable, retryAfterMs: 33_000)
        refusal.members = ["a"]
        let decision = settle(.retry(refusal))
        #expect(Rules.short(decision) == "retry 33000 1")
        #expect(try #require(GroupProgress(decision.recipient.value)).isReached == false)
    }

    /// Its members have all unregistered, or the last one left it: a group's key is no token to delete.
    @Test func unregisteredGroupIsEmpty() {
        guard case .result(let record) = settle(Self.dead).fate else {
            Issue.record("no result")
            return
        }
        #expect(record.status == .failed && record.failure?.error == .emptyGroup && record.action == .none)
        #expect(record.failure?.rawError == Rules.dead.rawError && record.feedback.isEmpty)
        #expect(Rules.short(settle(Self.mismatch)).hasPrefix("failed SENDER_ID_MISMATCH"))
    }

    /// A lifetime of 0 allows one attempt, and it was made.
    @Test func aLifetimeOfZeroAllowsNoRound() {
        let spec = JobSpec.message(to: .group("key"), ttl: "0s")
        let decision = settle(.sentPartly(messageID: "m1", failedTokens: ["a", "b"]), spec)
        #expect(Rules.short(decision) == "sent 1")
        guard case .result(let record) = decision.fate else { return }
        #expect(record.failedTokens == ["a", "b"] && record.messageID == "m1" && record.recipient == "key")
    }

    @Test func membersBeyondFCMsLimitAreNotOfTheGroup() throws {
        let decision = settle(.sentPartly(messageID: "", failedTokens: (0..<30).map { "m\($0)" }))
        #expect(try #require(GroupProgress(decision.recipient.value)).pending.count == 20)
    }

    @Test func aWholeAnswerHasNoRound() {
        #expect(Rules.short(settle(.sentPartly(messageID: "m", failedTokens: []))) == "sent 1")
        #expect(Rules.short(settle(Self.sent)) == "sent 1")
        #expect(Rules.short(settle(Self.retry)) == "retry 10000 1")
    }

    @Test func aJobThatEndsHasNoRound() {
        let partly = Verdict.sentPartly(messageID: "m1", failedTokens: ["a"])
        let decision = settle(partly, ending: .cancelled)
        #expect(Rules.short(decision) == "sent 1", "FCM reached a member")
    }

    // MARK: A round

    /// What each member's answer makes of the group. Members are `a`, `b` and on; FCM had reached others unless said.
    struct Round: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var answers: [Verdict]
        var expected: String
        var failedTokens: [String]?
        var removed: [String] = []
        var isReached = true
    }

    static let rounds = [
        Round(testDescription: "all reached", answers: [sent, sent], expected: "sent 2"),
        Round(
            testDescription: "one dead",
            answers: [sent, dead],
            expected: "sent 2",
            failedTokens: ["b"],
            removed: ["b"]
        ),
        Round(testDescription: "one refused", answers: [mismatch, sent], expected: "sent 2", failedTokens: ["a"]),
        Round(testDescription: "one unknown", answers: [unknown, sent], expected: "sent 2", failedTokens: ["a"]),
        Round(testDescription: "one waits", answers: [sent, retry], expected: "retry 20000 2"),
        Round(testDescription: "reached at last", answers: [sent], expected: "sent 2", isReached: false),
        Round(
            testDescription: "all dead",
            answers: [dead, dead],
            expected: "failed EMPTY_GROUP 2",
            failedTokens: ["a", "b"],
            removed: ["a", "b"],
            isReached: false
        ),
        Round(
            testDescription: "none reached",
            answers: [dead, mismatch],
            expected: "failed SENDER_ID_MISMATCH 2",
            failedTokens: ["a", "b"],
            removed: ["a"],
            isReached: false
        ),
        Round(
            testDescription: "none reached for certain",
            answers: [dead, unknown],
            expected: "unknown 2",
            failedTokens: ["a", "b"],
            removed: ["a"],
            isReached: false
        ),
    ]

    private func round(_ members: [String], isReached: Bool = true) -> GroupRound {
        let progress = GroupProgress(key: "key", messageID: "m1", pending: members, isReached: isReached)
        return GroupRound(position: 0, progress: progress, startedMs: 7)
    }

    private func next(_ round: inout GroupRound) throws -> String {
        let member = round.next()
        return try #require(member)
    }

    private func settle(_ round: GroupRound, attempts: Int = 1, ending: ResultStatus? = nil) -> OutcomeRules.Decision {
        let recipient = Rules.tried(attempts, agoMs: 15_000, value: round.progress.text)
        return Rules.rules.settle(round, recipient, Rules.situation(.group(), ending: ending), random: 0)
    }

    @Test(arguments: rounds)
    func aRoundEndsAsItsMembersAnswer(row: Round) {
        var round = round(row.answers.indices.map { ["a", "b", "c"][$0] }, isReached: row.isReached)
        for (index, verdict) in row.answers.enumerated() {
            let member = round.next()
            #expect(member == ["a", "b", "c"][index] && !round.isOver)
            round.answered(verdict, member: member ?? "")
        }
        #expect(round.isOver && round.next() == nil)
        let decision = settle(round)
        #expect(Rules.short(decision) == row.expected)
        guard case .result(let record) = decision.fate else { return }
        #expect(record.failedTokens == row.failedTokens && record.recipient == "key" && record.messageID == "m1")
        #expect(record.deadMembers.map(\.token) == row.removed)
    }

    @Test func membersThatWaitAreTheNextRound() throws {
        var round = round(["a", "b", "c"])
        for verdict in [Self.retry, Self.sent, Self.retry] { round.answered(verdict, member: try next(&round)) }
        let progress = try #require(GroupProgress(settle(round).recipient.value))
        #expect(progress.pending == ["a", "c"] && progress.failed.isEmpty)
    }

    /// Members wait together: as long as the longest, in doubt if one is.
    @Test func aRoundWaitsForItsSlowestMember() throws {
        var round = round(["a", "b"])
        let ambiguous = Retry(failure: Rules.unavailable, cause: .unanswered, mayHaveArrived: true)
        round.answered(.retry(Retry(failure: Rules.unavailable, retryAfterMs: 44_000)), member: try next(&round))
        round.answered(.retry(ambiguous), member: try next(&round))
        #expect(Rules.short(settle(round)) == "retry 44000? 2")
    }

    /// A member's rate was refused when it came; the group's key is another name.
    @Test func aMembersScopeIsNotTheGroups() throws {
        var round = round(["a"])
        let retry = Verdict.retry(Retry(failure: Rules.unavailable, scope: .device))
        round.answered(retry, member: try next(&round))
        #expect(settle(round).rateRefusedUntilMs == nil)
    }

    @Test func refusedMemberWaitsWhileTheOthersAreSentTo() throws {
        var round = round(["a", "b", "c"])
        let refusal = Failure(error: .unspecified, action: .fixCredentials, rawError: "denied", httpStatus: 403)
        round.answered(.blockProject(refusal), member: try next(&round))
        for _ in 0..<2 { round.answered(Self.sent, member: try next(&round)) }
        #expect(round.isOver)
        let decision = settle(round)
        #expect(Rules.short(decision) == "retry 60000 2")
        #expect(try #require(GroupProgress(decision.recipient.value)).pending == ["a"])
    }

    /// The members that FCM reached have the message; a group of which it reached none fails with the refusal.
    @Test(arguments: [(true, "sent 4"), (false, "failed UNSPECIFIED_ERROR 4")])
    func groupOfAMemberRefusedThriceEnds(isReached: Bool, expected: String) {
        let text = GroupProgress(key: "key", messageID: "m", pending: ["a"], isReached: isReached).text
        var recipient = Rules.tried(3, value: text)
        recipient.history.refusals = 2
        let refusal = Failure(error: .unspecified, action: .fixCredentials, rawError: "denied", httpStatus: 403)
        let verdict = Verdict.blockProject(refusal)
        let situation = Rules.situation(.group())
        let decision = Rules.rules.settle(verdict, recipient, startedMs: 0, situation, random: 0)
        #expect(Rules.short(decision) == expected)
        guard case .result(let record) = decision.fate else { return }
        #expect(record.failedTokens == ["a"] && record.action == (isReached ? .none : .fixCredentials))
    }

    @Test func aStoppedRoundGoesBackWithItsRest() throws {
        var round = round(["a", "b"])
        let first = try next(&round)
        round.stop()
        #expect(!round.isOver && round.next() == nil)
        round.answered(Self.sent, member: first)
        #expect(round.isOver && round.wasStopped)
        let decision = settle(round)
        #expect(Rules.short(decision) == "retry first 1")
        #expect(try #require(GroupProgress(decision.recipient.value)).pending == ["b"])
        #expect(Rules.short(settle(round, ending: .cancelled)) == "sent 1", "FCM reached a member before")
    }

    /// Nothing was left out, so the round is as good as any.
    @Test func aRoundThatIsStoppedAfterItsLastMemberEndsAsUsual() throws {
        var round = round(["a"])
        let first = try next(&round)
        round.stop()
        round.answered(Self.sent, member: first)
        #expect(!round.wasStopped && Rules.short(settle(round)) == "sent 2")
    }

    @Test func aRoundWithoutMembersIsOverAtOnce() {
        let round = round([])
        #expect(round.isOver && Rules.short(settle(round)) == "sent 2")
    }

    // MARK: The end of trying

    @Test func theRestIsGivenUpAtTheEndOfTrying() {
        func end(isReached: Bool, _ recipient: (String) -> HeldRecipient) -> OutcomeRules.Decision {
            let text = GroupProgress(key: "key", messageID: "m", pending: ["a"], isReached: isReached).text
            return Rules.rules.settle(
                Self.retry,
                recipient(text),
                startedMs: 0,
                Rules.situation(.group()),
                random: 0
            )
        }
        let old = { Rules.tried(8, agoMs: 3_600_000, value: $0) }
        #expect(Rules.short(end(isReached: true, old)) == "sent 9")
        #expect(Rules.short(end(isReached: false, old)) == "failed UNAVAILABLE 9")
    }

    @Test(arguments: [(ResultStatus.cancelled, true, "sent 1"), (.cancelled, false, "cancelled 1")])
    func aJobThatEndsEndsItsGroups(status: ResultStatus, isReached: Bool, expected: String) {
        let text = GroupProgress(key: "key", messageID: "m", pending: ["a"], isReached: isReached).text
        let decision = Rules.rules.end(Rules.tried(1, value: text), Rules.situation(.group(), ending: status))
        #expect(Rules.short(decision) == expected)
    }

    @Test func aGroupPastItsLifetimeEndsItsRounds() {
        let text = GroupProgress(key: "key", messageID: "m", pending: ["a"]).text
        let spec = JobSpec.message(to: .group("key"), ttl: "5s")
        let decision = Rules.rules.beforeSend(Rules.tried(1, agoMs: 9_000, value: text), Rules.situation(spec))
        #expect(Rules.short(decision) == "sent 1")
    }
}
