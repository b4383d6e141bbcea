import FCMWire
import FanfareModel
import Testing

private func verdict(
    _ outcome: RequestOutcome,
    kind: RecipientKind = .token,
    atMostOnce: Bool = false
) -> Verdict {
    V1Response.verdict(outcome, kind: kind, nowMs: responseNow, atMostOnce: atMostOnce)
}

@Suite struct V1RetryResponseTests {
    // MARK: rate limits

    private struct RateLimit {
        var body: String
        var kind = RecipientKind.token
        var scope: Retry.Scope
        var raw: String
    }

    private static let quotaExceeded = V1Body.fcmError("QUOTA_EXCEEDED")
    private static let limits = [
        RateLimit(
            body: V1Body.envelope(
                429,
                "RESOURCE_EXHAUSTED",
                "m",
                V1Body.errorInfo("RATE_LIMIT_EXCEEDED"),
                V1Body.help
            ),
            scope: .project,
            raw: "RATE_LIMIT_EXCEEDED"
        ),
        RateLimit(
            body: V1Body.envelope(429, "RESOURCE_EXHAUSTED", "m", quotaExceeded),
            scope: .recipient,
            raw: "QUOTA_EXCEEDED"
        ),
        RateLimit(
            body: V1Body.envelope(429, "RESOURCE_EXHAUSTED", "m", V1Body.quota, quotaExceeded),
            scope: .device,
            raw: "QUOTA_EXCEEDED"
        ),
        RateLimit(
            body: V1Body.envelope(429, "RESOURCE_EXHAUSTED", "m", quotaExceeded, V1Body.quota),
            kind: .topic,
            scope: .topic,
            raw: "QUOTA_EXCEEDED"
        ),
        RateLimit(
            body: V1Body.envelope(429, "RESOURCE_EXHAUSTED", "m", quotaExceeded),
            kind: .condition,
            scope: .topic,
            raw: "QUOTA_EXCEEDED"
        ),
        RateLimit(body: V1Body.envelope(429, "RESOURCE_EXHAUSTED"), scope: .recipient, raw: "RESOURCE_EXHAUSTED"),
    ]

    @Test func rateLimits() throws {
        let rows = Self.limits
        for row in rows {
            let failure = Failure(error: .quotaExceeded, action: .none, rawError: row.raw, httpStatus: 429)
            for atMostOnce in [false, true] {
                let bare = verdict(answer(429, row.body), kind: row.kind, atMostOnce: atMostOnce)
                #expect(bare == .retry(Retry(failure: failure, scope: row.scope, floorMs: 60_000)))
            }
            let told = verdict(answer(429, row.body, retryAfter: "30"), kind: row.kind)
            #expect(
                told == .retry(Retry(failure: failure, scope: row.scope, retryAfterMs: 30_000, floorMs: 10_000))
            )
            let garbage = verdict(answer(429, row.body, retryAfter: "soon"), kind: row.kind)
            #expect(garbage == .retry(Retry(failure: failure, scope: row.scope, floorMs: 60_000)))
        }
        let project = verdict(answer(429, rows[0].body))
        #expect(project.holdProjectMs == 60_000 && project.refusedForMs == nil)
        #expect(verdict(answer(429, rows[0].body, retryAfter: "90")).holdProjectMs == 90_000)
        #expect(verdict(answer(429, rows[1].body)).holdProjectMs == nil)
    }

    // MARK: server errors

    @Test(arguments: 500...599)
    func everyServerErrorIsRetried(status: Int) {
        let body = V1Body.envelope(status, "ANY", "m", V1Body.fcmError("UNREGISTERED"))
        guard case .retry(let bare) = verdict(answer(status, body, type: "text/html")) else {
            Issue.record("\(status) is not retried")
            return
        }
        #expect(bare.mayHaveArrived && bare.scope == .recipient && bare.floorMs == 10_000 && bare.countsAttempt)
        #expect(bare.failure.error == .unavailable && bare.cause == .answered)
        guard case .unknown(_, nil) = verdict(answer(status, body), atMostOnce: true) else {
            Issue.record("\(status) is sent again at most once")
            return
        }
    }

    /// FCM's own 503, 500 or 502 with this Retry-After.
    private static func busy(_ status: Int, _ retryAfter: String?) -> RequestOutcome {
        answer(status, V1Body.envelope(status, "UNAVAILABLE"), retryAfter: retryAfter)
    }

    @Test func aRetryAfterOfAServerErrorHoldsItsRecipient() {
        guard case .retry(let rejected) = verdict(Self.busy(503, "5"), atMostOnce: true) else {
            Issue.record("a 503 with Retry-After was turned away at the door")
            return
        }
        #expect(!rejected.mayHaveArrived && rejected.scope == .recipient && rejected.retryAfterMs == 5_000)
        let date = verdict(Self.busy(503, "Sun, 06 Nov 1994 08:50:37 GMT"))
        #expect(date.refusedForMs == 60_000 && date.holdProjectMs == nil)
        guard case .retry(let other) = verdict(Self.busy(500, "45")) else {
            Issue.record("not retried")
            return
        }
        #expect(other.mayHaveArrived && other.scope == .recipient && other.retryAfterMs == 45_000)
        let unknown = verdict(Self.busy(502, "45"), atMostOnce: true)
        #expect(unknown.refusedForMs == 45_000 && unknown.holdProjectMs == nil)
        #expect(verdict(Self.busy(503, nil)).refusedForMs == nil)
        guard case .unknown = verdict(Self.busy(503, "-1"), atMostOnce: true) else {
            Issue.record("a Retry-After that does not count makes a bare 503")
            return
        }
    }

    @Test(arguments: [
        (500, V1Body.fcmError("INTERNAL"), ErrorCode.internalError, "INTERNAL"),
        (503, V1Body.fcmError("UNAVAILABLE"), .unavailable, "UNAVAILABLE"),
        (503, V1Body.fcmError("BRAND_NEW"), .internalError, "BRAND_NEW"),
        (500, V1Body.help, .internalError, "INTERNAL"),
    ])
    func serverErrorsKeepTheirName(status: Int, detail: String, error: ErrorCode, raw: String) {
        let outcome = answer(status, V1Body.envelope(status, "INTERNAL", "m", detail))
        guard case .retry(let retry) = verdict(outcome) else {
            Issue.record("not retried")
            return
        }
        #expect(retry.failure == Failure(error: error, action: .none, rawError: raw, httpStatus: status))
    }
}
