internal import FanfareModel

/// Verdicts that do not depend on the protocol. The classes and their proofs are on the page "Guarantees".
enum SharedVerdicts {
    /// The verdict on a request without an answer of its protocol.
    static func withoutAnswer(_ outcome: RequestOutcome, atMostOnce: Bool) -> Verdict {
        switch outcome {
        case .unsent(let reason):
            return .retry(
                Retry(failure: transport(reason), cause: .unsent, floorMs: 1_000, countsAttempt: false)
            )
        case .refused(let reason):
            // The server is reachable, so the retry comes soon; it counts as an attempt, so that the wait grows.
            return .retry(Retry(failure: transport(reason), cause: .refused, floorMs: 1_000))
        case .ambiguous(let reason):
            return unanswered(reason.description, httpStatus: 0, atMostOnce: atMostOnce)
        case .answered, .stanza:
            return unanswered("an answer of another protocol", httpStatus: 0, atMostOnce: atMostOnce)
        }
    }

    /// The verdict on a request that FCM may have carried out, without an answer that shows it.
    static func unanswered(_ reason: String, httpStatus: Int, atMostOnce: Bool) -> Verdict {
        let failure = Failure(
            error: .unspecified,
            action: .none,
            rawError: RawError.clean(reason),
            httpStatus: httpStatus
        )
        guard !atMostOnce else { return .unknown(failure, retryAfterMs: nil) }
        return .retry(Retry(failure: failure, cause: .unanswered, mayHaveArrived: true))
    }

    /// The verdict on a status of 500 to 599. A 503 with Retry-After was not processed; after any other the message may
    /// have been sent.
    ///
    /// Retry-After holds this recipient; many such answers hold the project, see ``Verdict/refusedForMs``.
    static func serverError(_ failure: Failure, _ advice: RetryAdvice, atMostOnce: Bool) -> Verdict {
        again(failure, advice, mayHaveArrived: failure.httpStatus != 503 || !advice.hasHeader, atMostOnce: atMostOnce)
    }

    /// The verdict on an answer that names no error of FCM, by its status alone. Unless the status says that the request
    /// was not processed, the message may have been sent.
    static func byStatus(_ failure: Failure, _ advice: RetryAdvice, atMostOnce: Bool) -> Verdict {
        let mayHaveArrived = !ForeignAnswer.refusals.contains(failure.httpStatus)
        return again(failure, advice, mayHaveArrived: mayHaveArrived, atMostOnce: atMostOnce)
    }

    private static func again(
        _ failure: Failure,
        _ advice: RetryAdvice,
        mayHaveArrived: Bool,
        atMostOnce: Bool
    ) -> Verdict {
        if mayHaveArrived, atMostOnce {
            return .unknown(failure, retryAfterMs: advice.waitMs)
        }
        let isRate = failure.httpStatus == 429 && advice.waitMs == nil
        return .retry(
            Retry(
                failure: failure,
                retryAfterMs: advice.waitMs,
                floorMs: max(isRate ? CodeTable.rateFloorMs : CodeTable.shortFloorMs, advice.floorMs),
                mayHaveArrived: mayHaveArrived
            )
        )
    }

    /// The verdict of a row of the table. FCM named the error, so the outcome is not ambiguous. A Retry-After replaces
    /// the minute of a rate limit, never the least wait.
    static func verdict(
        _ row: CodeRow,
        rawError: String = "",
        httpStatus: Int = 0,
        _ advice: RetryAdvice? = nil
    ) -> Verdict {
        let failure = row.failure(rawError: rawError, httpStatus: httpStatus)
        var refused = failure
        refused.leastWaitMs = advice?.waitMs ?? 0
        switch row.disposition {
        case .final: return .failed(failure)
        case .refreshCredential: return .refreshCredential(refused)
        case .blockProject: return .blockProject(refused)
        case .resend:
            return .retry(Retry(failure: failure, cause: .refused, floorMs: 0, countsAttempt: false))
        case .retry(let floorMs, let scope):
            let waitMs = advice?.waitMs
            let leastMs = waitMs == nil ? floorMs : min(floorMs, CodeTable.shortFloorMs)
            return .retry(
                Retry(failure: failure, scope: scope, retryAfterMs: waitMs, floorMs: max(leastMs, advice?.floorMs ?? 0))
            )
        }
    }

    private static func transport(_ reason: Reason) -> Failure {
        Failure(error: .transport, action: .none, rawError: RawError.clean(reason.description))
    }
}
