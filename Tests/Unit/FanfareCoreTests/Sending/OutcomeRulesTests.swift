import FanfareModel
import Testing

@testable import FanfareCore
@testable import StreamWire

/// (verdict, history, job, ending) → what becomes of the recipient.
@Suite struct OutcomeRulesTests {
    static let rules = OutcomeRules()
    static let now = Instant(monotonicNs: 0, projectMs: 1_700_000_100_000, projectClockOffsetMs: 40_000)
    static let nowMs = now.projectMs
    static let unavailable = Failure(error: .unavailable, action: .none, rawError: "UNAVAILABLE", httpStatus: 503)
    static let dead = Failure(error: .unregistered, action: .remove, rawError: "UNREGISTERED", httpStatus: 404)

    static func situation(_ spec: JobSpec, ending: ResultStatus? = nil, legacy: Bool = false) -> OutcomeRules.Situation
    {
        let settings = ProtocolSettings(transport: legacy ? .legacy : .v1)
        return .init(job: SendJob(id: "j", spec: spec, settings: settings), ending: ending, now: now)
    }

    /// A recipient that was first sent to so long ago.
    static func tried(
        _ attempts: Int,
        agoMs: Int64 = 1_000,
        maybeDuplicate: Bool = false,
        value: String = "t0"
    ) -> HeldRecipient {
        let first = attempts == 0 && agoMs == 0 ? 0 : nowMs - agoMs
        let history = RecipientHistory(attempts: attempts, firstAttemptMs: first, maybeDuplicate: maybeDuplicate)
        return HeldRecipient(index: 3, value: value, history: history)
    }

    static let fresh = HeldRecipient(index: 3, value: "t0")

    /// A decision in short: the status with its error, `retry` with its wait, or `park`; `?` where it may be a duplicate.
    static func short(_ decision: OutcomeRules.Decision?) -> String {
        guard let decision else { return "send" }
        switch decision.fate {
        case .result(let record):
            let error = record.failure.map { " \($0.error.rawValue)" } ?? ""
            return record.status.rawValue + error + (record.maybeDup ? "?" : "") + " \(record.attempts)"
        case .retry(let dueMs, _):
            let doubt = decision.recipient.history.maybeDuplicate ? "?" : ""
            let wait = dueMs == 1 ? "first" : "\(dueMs - nowMs)"
            return "retry \(wait)\(doubt) \(decision.recipient.history.attempts)"
        case .park: return "park \(decision.recipient.history.attempts)"
        }
    }

    struct Row: CustomTestStringConvertible, Sendable {
        var name: String
        var expected: String
        var decide: @Sendable () -> OutcomeRules.Decision?

        init(_ name: String, _ expected: String, _ decide: @escaping @Sendable () -> OutcomeRules.Decision?) {
            (self.name, self.expected, self.decide) = (name, expected, decide)
        }

        var testDescription: String { name }
    }

    // MARK: Before a send

    private static func before(
        _ name: String,
        _ expected: String,
        _ recipient: HeldRecipient = fresh,
        _ spec: JobSpec = .message(),
        ending: ResultStatus? = nil
    ) -> Row {
        Row(name, expected) { rules.beforeSend(recipient, situation(spec, ending: ending)) }
    }

    static let beforeSend = [
        before("a token", "send"),
        before("a retry", "send", tried(2)),
        before("of a job that ended", "cancelled 0", ending: .cancelled),
        before("of a job that ended, in doubt", "unknown? 1", tried(1, maybeDuplicate: true), ending: .cancelled),
        before("no token", "failed INVALID_ARGUMENT 0", HeldRecipient(index: 0, value: "not a token")),
        before("empty", "failed INVALID_ARGUMENT 0", HeldRecipient(index: 0, value: "")),
        before(
            "a condition may hold anything",
            "send",
            .init(index: 0, value: "'a' in topics"),
            .message(to: .condition("c"))
        ),
        before("before expires_at", "send", fresh, .message { $0.expiresAt = now.wallMs + 1 }),
        // The producer's clock is Redis' time of day, not the project's.
        before("at expires_at", "expired 0", fresh, .message { $0.expiresAt = now.wallMs }),
        before(
            "past expires_at, in doubt",
            "unknown? 1",
            tried(1, maybeDuplicate: true),
            .message { $0.expiresAt = 1 }
        ),
        before("a lifetime does not run before an attempt", "send", tried(0, agoMs: 90_000), .message(ttl: "5s")),
        before("before the lifetime's end", "send", tried(1, agoMs: 4_999), .message(ttl: "5s")),
        before("at the lifetime's end", "expired 1", tried(1, agoMs: 5_000), .message(ttl: "5s")),
        before(
            "past the lifetime, in doubt",
            "unknown? 1",
            tried(1, agoMs: 9_000, maybeDuplicate: true),
            .message(ttl: "5s")
        ),
        before("with a lifetime of 0 the policy has decided", "send", tried(1, agoMs: 9_000), .message(ttl: "0s")),
        before("an operation has no lifetime", "send", tried(1, agoMs: 9_000), .operation()),
    ]

    @Test(arguments: beforeSend)
    func beforeASend(row: Row) { #expect(Self.short(row.decide()) == row.expected) }

    // MARK: Possibly sent by an earlier worker

    private static func doubtful(
        _ name: String,
        _ expected: String,
        _ recipient: HeldRecipient = fresh,
        _ spec: JobSpec = .message(),
        ending: ResultStatus? = nil
    ) -> Row {
        Row(name, expected) { rules.doubtful(recipient, situation(spec, ending: ending)) }
    }

    static let doubtfulRows = [
        doubtful("sent again after 2 s", "retry 2000? 1"),
        doubtful("a retry counts one attempt more", "retry 2000? 3", tried(2)),
        doubtful("at most once", "unknown 1", fresh, .message { $0.delivery = .atMostOnce }),
        doubtful("a lifetime of 0 allows no second attempt", "unknown 1", fresh, .message(ttl: "0s")),
        doubtful("tried for an hour", "unknown 2", tried(1, agoMs: 3_600_000)),
        doubtful("tried for nearly an hour", "retry 2000? 2", tried(1, agoMs: 3_599_999)),
        doubtful("of a job that ended", "unknown 1", ending: .expired),
        // No device shows a subscription twice; a group cannot be made twice.
        doubtful("a subscription", "retry 2000 1", fresh, .operation(.subscribe)),
        doubtful("members added again are members", "retry 2000 1", fresh, .operation(.groupAdd)),
        doubtful("a new group", "retry 2000? 1", fresh, .operation(.groupCreate)),
    ]

    @Test(arguments: doubtfulRows)
    func possiblySent(row: Row) { #expect(Self.short(row.decide()) == row.expected) }

    @Test func theFirstAttemptInDoubtStartsTheTime() {
        let history = Self.rules.doubtful(Self.fresh, Self.situation(.message())).recipient.history
        #expect(history == RecipientHistory(attempts: 1, firstAttemptMs: Self.nowMs, maybeDuplicate: true))
    }

    // MARK: Without a send

    static let withoutSend = [
        Row("ends", "expired 0") { rules.end(fresh, situation(.message(), ending: .expired)) },
        Row("ends, in doubt", "unknown? 2") {
            rules.end(tried(2, maybeDuplicate: true), situation(.message(), ending: .expired))
        },
        Row("given back", "retry first 0") { rules.giveBack(fresh) },
        Row("given back, in doubt", "retry first? 2") { rules.giveBack(tried(2, maybeDuplicate: true)) },
        Row("waits for its rate", "retry 700 1") {
            rules.waitForRate(tried(1), untilMs: nowMs + 700, situation(.message()))
        },
        Row("waits for its rate, ended", "cancelled 1") {
            rules.waitForRate(tried(1), untilMs: nowMs + 700, situation(.message(), ending: .cancelled))
        },
        Row("fails with its job", "failed UNREGISTERED 1") {
            rules.result(.failed, dead, tried(1), situation(.message()).job)
        },
    ]

    @Test(arguments: withoutSend)
    func whatNeedsNoSend(row: Row) { #expect(Self.short(row.decide()) == row.expected) }

    @Test func endTrapsWhileTheJobGoesOn() async {
        await #expect(processExitsWith: .failure) {
            _ = Self.rules.end(Self.fresh, Self.situation(.message()))
        }
    }

    // MARK: After a send

    private static func after(
        _ name: String,
        _ verdict: Verdict,
        _ expected: String,
        _ recipient: HeldRecipient = fresh,
        _ spec: JobSpec = .message(),
        ending: ResultStatus? = nil,
        legacy: Bool = false
    ) -> Row {
        Row(name, expected) {
            let situation = situation(spec, ending: ending, legacy: legacy)
            return rules.settle(verdict, recipient, startedMs: nowMs - 100, situation, random: 0)
        }
    }

    private static func retry(_ change: (inout Retry) -> Void = { _ in }) -> Verdict {
        var retry = Retry(failure: unavailable)
        change(&retry)
        return .retry(retry)
    }

    private static let unsent = retry {
        $0.cause = .unsent
        $0.floorMs = 1_000
        $0.countsAttempt = false
    }
    private static let unanswered = retry {
        $0.cause = .unanswered
        $0.mayHaveArrived = true
    }
    private static let sent = Verdict.sent(messageID: "m", canonical: nil)
    private static let blocked = Verdict.blockProject(
        Failure(error: .unspecified, action: .fixCredentials, rawError: "denied", httpStatus: 403)
    )

    static let afterSend = [
        after("sent", sent, "sent 1"),
        after("sent to an ending job", sent, "sent 1", ending: .cancelled),
        after("sent after an attempt in doubt", sent, "sent? 2", tried(1, maybeDuplicate: true)),
        after("dead", .failed(dead), "failed UNREGISTERED 1"),
        after("unknown at most once", .unknown(unavailable, retryAfterMs: nil), "unknown 1"),
        after("waits", retry(), "retry 10000 1"),
        after("waits longer", retry(), "retry 20000 2", tried(1, agoMs: 15_000)),
        after("waits for Retry-After", retry { $0.retryAfterMs = 77_000 }, "retry 77000 1"),
        after("never left", unsent, "retry 1000 0"),
        after("unanswered", unanswered, "retry 10000? 1"),
        after("answered after doubt", retry(), "retry 11000? 2", tried(1, maybeDuplicate: true)),
        after("waits with others of its second", retry(), "retry 10000 1", legacy: true),
        after("moves to the second's end", retry { $0.retryAfterMs = 10_001 }, "retry 11000 1", legacy: true),
        after("of an ending job", retry(), "cancelled 1", ending: .cancelled),
        after("of an ending job, in doubt", unanswered, "unknown? 1", ending: .cancelled),
        after("an hour is over", retry(), "failed UNAVAILABLE 9", tried(8, agoMs: 3_600_000)),
        after("an hour is over, unanswered", unanswered, "unknown 9", tried(8, agoMs: 3_600_000)),
        after("would wait past the hour", retry { $0.retryAfterMs = 3_600_000 }, "failed UNAVAILABLE 1"),
        after(
            "would wait past expires_at",
            retry(),
            "expired 1",
            fresh,
            .message { $0.expiresAt = now.wallMs + 9_000 }
        ),
        after(
            "waits until before expires_at",
            retry(),
            "retry 10000 1",
            fresh,
            .message { $0.expiresAt = now.wallMs + 11_000 }
        ),
        after("would wait past its lifetime", retry(), "expired 1", fresh, .message(ttl: "10s")),
        after("a lifetime of 0: one attempt", retry(), "expired 1", fresh, .message(ttl: "0s")),
        after("a lifetime of 0: one answered attempt", unanswered, "unknown 1", fresh, .message(ttl: "0s")),
        after("a lifetime of 0 outlives what never left", unsent, "retry 1000 0", fresh, .message(ttl: "0s")),
        after("refused, perhaps the project", blocked, "retry 60000 1"),
        after("the token is refused", .refreshCredential(unavailable), "retry 60000 3", tried(2)),
    ]

    @Test(arguments: afterSend)
    func afterASend(row: Row) { #expect(Self.short(row.decide()) == row.expected) }

    @Test func theRandomPartIsAddedToTheWait() {
        let decision = Self.rules.settle(
            Self.retry(),
            Self.fresh,
            startedMs: Self.nowMs,
            Self.situation(.message()),
            random: 0.5
        )
        #expect(Self.short(decision) == "retry 15000 1")
    }

    /// Only a count of attempts starts the lifetime; trying itself is counted from the first try of any kind.
    @Test func theFirstTryIsRemembered() {
        func first(_ verdict: Verdict, _ recipient: HeldRecipient) -> Int64 {
            let situation = Self.situation(.message())
            let decision = Self.rules.settle(verdict, recipient, startedMs: 55, situation, random: 0)
            return decision.recipient.history.firstAttemptMs
        }
        let earlier = HeldRecipient(index: 0, value: "t0", history: RecipientHistory(firstAttemptMs: 44))
        #expect(first(Self.unsent, Self.fresh) == 55 && first(Self.unsent, earlier) == 44)
        #expect(first(Self.sent, Self.fresh) == 55 && first(Self.sent, earlier) == 55, "the first that counts")
        #expect(first(Self.blocked, Self.fresh) == 55, "FCM looked at it")
    }

    @Test(arguments: [(Retry.Scope.device, true), (.topic, true), (.recipient, false), (.project, false)])
    func aRefusedRateIsKept(scope: Retry.Scope, isKept: Bool) {
        let verdict = Self.retry { $0.scope = scope }
        let decision = Self.rules.settle(
            verdict,
            Self.fresh,
            startedMs: Self.nowMs,
            Self.situation(.message()),
            random: 0
        )
        let last = Self.rules.settle(
            verdict,
            Self.tried(8, agoMs: 3_600_000),
            startedMs: 0,
            Self.situation(.message()),
            random: 0
        )
        #expect(decision.rateRefusedUntilMs == (isKept ? Self.nowMs + 10_000 : nil))
        #expect(last.rateRefusedUntilMs == nil, "a recipient with its result waits for nothing")
    }

    // MARK: Operations

    private static let serverError = retry { $0.failure.httpStatus = 500 }
    private static let turnedAway = retry { $0.retryAfterMs = 5_000 }
    private static let exists = Verdict.failed(
        Failure(
            error: .invalidArgument,
            action: .fixMessage,
            rawError: "notification_key already exists",
            httpStatus: 400
        )
    )

    static let operations = [
        after("carried out", .managed(group: "K"), "sent 1", fresh, .operation(.groupAdd)),
        after("listed", .listed(["a"]), "sent 1", fresh, .operation(.topicList)),
        after("a listing remembers no doubt", unanswered, "retry 10000 1", fresh, .operation(.topicList)),
        after("carried out after doubt", sent, "sent 2", tried(1, maybeDuplicate: true), .operation()),
        after("a subscription remembers no doubt", unanswered, "retry 10000 1", fresh, .operation()),
        after("a new group does", unanswered, "retry 10000? 1", fresh, .operation(.groupCreate)),
        after("a 500 may have made the group", serverError, "retry 10000? 1", fresh, .operation(.groupCreate)),
        after("a 503 with Retry-After has not", turnedAway, "retry 10000 1", fresh, .operation(.groupCreate)),
        after("the hour is over", retry(), "failed UNAVAILABLE 9", tried(8, agoMs: 3_600_000), .operation()),
        after(
            "the hour is over, in doubt",
            turnedAway,
            "unknown 9",
            tried(8, agoMs: 3_600_000, maybeDuplicate: true),
            .operation(.groupCreate)
        ),
        after("refused", exists, "failed INVALID_ARGUMENT 1", fresh, .operation(.groupCreate)),
    ]

    @Test(arguments: operations)
    func anOperation(row: Row) { #expect(Self.short(row.decide()) == row.expected) }

    @Test func aGroupOperationsResultNamesItsGroup() throws {
        func record(_ verdict: Verdict) throws -> ResultRecord {
            let situation = Self.situation(.operation(.groupAdd))
            let decision = Self.rules.settle(verdict, Self.fresh, startedMs: 0, situation, random: 0)
            guard case .result(let record) = decision.fate else { throw UnexpectedFate() }
            return record
        }
        let carriedOut = try record(.managed(group: "K"))
        #expect(carriedOut.operation == .group(name: "name") && carriedOut.recipient == "K")
        let failed = try record(Self.exists)
        #expect(failed.operation == .group(name: "name") && failed.recipient == "key")
    }

    private struct UnexpectedFate: Error {}
}
