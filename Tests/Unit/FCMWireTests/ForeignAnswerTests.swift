import FanfareModel
import Testing

@testable import FCMWire

/// Pages of proxies, firewalls and portals: no verdict on the project, the message or the recipient.
@Suite struct ForeignAnswerTests {
    /// By the contract: refusals before processing.
    static let refusals: Set<Int> = [401, 403, 404, 405, 407, 411, 413, 414, 415, 421, 425, 429, 431]

    static let pages: [(body: String, type: String?)] = [
        ("<!DOCTYPE html><html><title>Error</title>", "text/html"), ("", nil), ("", "application/json"),
        ("Access denied", "text/plain; charset=utf-8"), (#"{"message":"no Route matched"}"#, "application/json"),
        (#"{"error":{"code":"AccessDenied","message":"m"}}"#, "application/json"), ("[]", "application/json"),
        (#"{"error":{"code":403,"status":"PERMI"#, "application/json"), ("{}", "application/json"),
    ]

    private static func v1(_ outcome: RequestOutcome, atMostOnce: Bool = false) -> Verdict {
        V1Response.verdict(outcome, kind: .token, nowMs: responseNow, atMostOnce: atMostOnce)
    }

    private static func legacy(_ outcome: RequestOutcome, atMostOnce: Bool = false) -> Verdict {
        let all = LegacyResponse.verdicts(
            outcome,
            recipients: ["t"],
            kind: .token,
            nowMs: responseNow,
            atMostOnce: atMostOnce
        )
        return all[0]
    }

    private static func text(_ outcome: RequestOutcome, atMostOnce: Bool = false) -> Verdict {
        PlainTextResponse.verdict(outcome, recipient: "t", nowMs: responseNow, atMostOnce: atMostOnce)
    }

    private static func expectForeign(
        _ status: Int,
        _ judge: (RequestOutcome, Bool) -> Verdict,
        _ page: (body: String, type: String?)
    ) {
        let outcome = answer(status, page.body, type: page.type)
        let raw = "HTTP \(status)" + (page.type.map { ", \($0.prefix { $0 != ";" })" } ?? "")
        let told = status == 407 ? raw + ": the proxy asks for a login" : raw
        let failure = Failure(error: .unspecified, action: .none, rawError: told, httpStatus: status)
        let isRefused = refusals.contains(status)
        let floorMs: Int64 = status == 429 ? 60_000 : 10_000
        let again = Verdict.retry(Retry(failure: failure, floorMs: floorMs, mayHaveArrived: !isRefused))
        #expect(judge(outcome, false) == again, "\(status) \(page)")
        #expect(judge(outcome, true) == (isRefused ? again : .unknown(failure, retryAfterMs: nil)), "\(status) \(page)")
    }

    @Test(arguments: 400...599) func v1IsRetriedByItsStatusAlone(status: Int) {
        for page in Self.pages { Self.expectForeign(status, { Self.v1($0, atMostOnce: $1) }, page) }
    }

    @Test(arguments: 400...499) func legacyIsRetriedByItsStatusAlone(status: Int) {
        for page in Self.pages {
            Self.expectForeign(status, { Self.legacy($0, atMostOnce: $1) }, page)
            Self.expectForeign(status, { Self.text($0, atMostOnce: $1) }, page)
        }
    }

    @Test(arguments: 500...599) func legacyServerErrorInHTMLIsAPage(status: Int) {
        Self.expectForeign(status, { Self.legacy($0, atMostOnce: $1) }, ("<html>", "text/html"))
        Self.expectForeign(status, { Self.text($0, atMostOnce: $1) }, ("<html>", nil))
    }

    @Test(arguments: 400...599) func managementIsRetriedAndRefreshesNothing(status: Int) {
        for page in Self.pages {
            let outcome = answer(status, page.body, type: page.type)
            let verdicts =
                TopicBatch.verdicts(outcome, tokens: ["a"], nowMs: responseNow)
                + [
                    GroupOperation.verdict(outcome, op: .groupCreate, key: "", nowMs: responseNow),
                    TopicSubscription.verdict(outcome, op: .subscribe, nowMs: responseNow),
                    TopicSubscription.verdict(outcome, op: .unsubscribe, nowMs: responseNow),
                ]
            for verdict in verdicts {
                guard case .retry(let retry) = verdict else {
                    Issue.record("\(status) \(page): \(verdict)")
                    continue
                }
                #expect(
                    retry.failure.error == .unspecified && retry.failure.action == .none && retry.scope == .recipient
                )
                #expect(retry.failure.rawError.hasPrefix("HTTP \(status)"))
            }
        }
    }

    /// A group that an unanswered create made exists already at the next try.
    @Test func aPageOfAnAmbiguousStatusLeavesAGroupInDoubt() {
        func mayHaveArrived(_ status: Int) -> Bool? {
            let outcome = answer(status, "<html>", type: "text/html")
            let verdict = GroupOperation.verdict(outcome, op: .groupCreate, key: "", nowMs: responseNow)
            guard case .retry(let retry) = verdict else { return nil }
            return retry.mayHaveArrived
        }
        #expect(mayHaveArrived(499) == true && mayHaveArrived(502) == true && mayHaveArrived(403) == false)
    }

    @Test func theWaitThatAPageAsksForIsKept() {
        for (status, isRefused) in [(403, true), (429, true), (503, false)] {
            let outcome = answer(status, "<html>", type: "text/html", retryAfter: "120")
            guard case .retry(let retry) = Self.v1(outcome) else {
                Issue.record("\(status) is not retried")
                continue
            }
            #expect(retry.retryAfterMs == 120_000 && retry.floorMs == 10_000 && retry.mayHaveArrived != isRefused)
        }
        // A 5xx holds the project by its share, even if a proxy wrote its page.
        #expect(Self.v1(answer(503, "<html>", type: "text/html", retryAfter: "9")).refusedForMs == 9_000)
    }

    /// FCM's own 408 may have been carried out; its 421 and 425 were not (RFC 9110, RFC 8470).
    @Test(arguments: [(408, true), (421, false), (425, false)])
    func transportStatusesInFCMsJSONAreRetried(status: Int, mayHaveArrived: Bool) {
        for (judge, body) in [
            (Self.v1, V1Body.envelope(status, "ABORTED")), (Self.legacy, #"{"error":"ABORTED"}"#),
            (Self.text, "Error=ABORTED\n"),
        ] as [((RequestOutcome, Bool) -> Verdict, String)] {
            let outcome = answer(status, body, type: body.hasPrefix("{") ? "application/json" : "text/plain")
            let failure = Failure(error: .unspecified, action: .none, rawError: "ABORTED", httpStatus: status)
            #expect(judge(outcome, false) == .retry(Retry(failure: failure, mayHaveArrived: mayHaveArrived)))
            let once = judge(outcome, true)
            #expect(once == (mayHaveArrived ? .unknown(failure, retryAfterMs: nil) : judge(outcome, false)))
        }
    }

    @Test func hostileContentTypeIsCleanAndShort() {
        let type = "a/\u{1B}[31m" + String(repeating: "x", count: 5_000)
        let raw = ForeignAnswer.text(HTTPAnswer(status: 403, contentType: type))
        #expect(raw.hasPrefix("HTTP 403, a/?[31mxxx") && raw.utf8.count < 100)
    }

    // MARK: Reachability

    static let own: [(status: Int, body: String, type: String?, legacy: Bool)] = [
        (200, #"{"name":"n"}"#, "application/json; charset=UTF-8", false), (200, "id=1", "text/plain", true),
        (400, V1Body.envelope(400, "INVALID_ARGUMENT"), "application/json", false),
        (400, #"{"error":"notification_key not found"}"#, "application/json", false),
        (401, #"{"error":"x"}"#, "application/json", true), (503, "", nil, true), (200, "", "application/json", false),
    ]

    @Test(arguments: own)
    func ownAnswerShowsThatFCMIsReached(row: (status: Int, body: String, type: String?, legacy: Bool)) {
        let outcome = answer(row.status, row.body, type: row.type)
        #expect(outcome.reaching(row.legacy ? .legacy : .google) == outcome)
    }

    static let foreign: [(status: Int, body: String, type: String?, legacy: Bool, reason: String)] = [
        (403, "<html>", "text/html; charset=utf-8", false, "HTTP 403, text/html: not FCM's answer"),
        (200, "<html>", "TEXT/HTML", false, "HTTP 200, text/html: not FCM's answer"),
        (200, "id=1", "text/plain", false, "HTTP 200, text/plain: not FCM's answer"),
        (302, "", nil, true, "HTTP 302: not FCM's answer"), (503, "", nil, false, "HTTP 503: not FCM's answer"),
        (502, "<html>", nil, true, "HTTP 502: not FCM's answer"),
        (407, "", nil, true, "HTTP 407: the proxy asks for a login: not FCM's answer"),
    ]

    @Test(arguments: foreign)
    func foreignAnswerShowsThatFCMIsNotReached(
        row: (status: Int, body: String, type: String?, legacy: Bool, reason: String)
    ) {
        let outcome = answer(row.status, row.body, type: row.type)
        #expect(outcome.reaching(row.legacy ? .legacy : .google) == .ambiguous(reason: Reason(row.reason)))
    }

    @Test func otherOutcomesStay() {
        for outcome in [
            RequestOutcome.unsent(reason: "a"), .refused(reason: "b"), .ambiguous(reason: "c"), .stanza([]),
        ] {
            #expect(outcome.reaching(.google) == outcome)
        }
    }
}
