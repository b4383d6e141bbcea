internal import FanfareModel

/// Verdicts that do not depend on the protocol. The classes and their proofs are those of the page "Guarantees".
enum SharedVerdicts {
    /// The verdict on a request without an answer; nil if there is one.
    static func withoutAnswer(_ outcome: RequestOutcome, atMostOnce: Bool) -> Verdict? {
        switch outcome {
        case .unsent(let reason):
            return .retry(
                Retry(failure: transport(reason), cause: .unsent, floorMs: 1_000, countsAttempt: false)
            )
        case .refused(let reason):
            // The server is there and said no: shortly again, but this costs an attempt, so that the wait grows.
            return .retry(Retry(failure: transport(reason), cause: .refused, floorMs: 1_000))
        case .ambiguous(let reason):
            return unanswered(reason, httpStatus: 0, atMostOnce: atMostOnce)
        case .answered, .stanza:
            return nil
        }
    }

    /// The request may have been carried out, and nothing that came back is FCM's word on it.
    static func unanswered(_ reason: String, httpStatus: Int, atMostOnce: Bool) -> Verdict {
        let failure = Failure(
            error: .unspecified,
            action: .none,
            rawError: RawError.clean(reason),
            httpStatus: httpStatus
        )
        guard !atMostOnce else { return .unknown(failure, holdProjectMs: nil) }
        return .retry(Retry(failure: failure, cause: .unanswered, isAmbiguous: true))
    }

    /// A status of 500 to 599. A 503 with Retry-After was turned away at the door; after any other the message may
    /// have gone through. Retry-After speaks to the whole project.
    static func serverError(_ failure: Failure, retryAfterMs: Int64?, atMostOnce: Bool) -> Verdict {
        let isAmbiguous = failure.httpStatus != 503 || retryAfterMs == nil
        if isAmbiguous, atMostOnce {
            return .unknown(failure, holdProjectMs: retryAfterMs)
        }
        return .retry(
            Retry(
                failure: failure,
                scope: retryAfterMs == nil ? .recipient : .project,
                retryAfterMs: retryAfterMs,
                floorMs: CodeTable.shortFloorMs,
                isAmbiguous: isAmbiguous
            )
        )
    }

    /// The verdict that a row of the table asks for. FCM named the error itself, so nothing is ambiguous about it. A Retry-After
    /// takes the place of the minute that a rate limit costs otherwise, never that of the least wait.
    static func verdict(_ row: CodeRow, rawError: String, httpStatus: Int, retryAfterMs: Int64?) -> Verdict {
        let failure = row.failure(rawError: rawError, httpStatus: httpStatus)
        switch row.disposition {
        case .final: return .failed(failure)
        case .refreshCredential: return .refreshCredential(failure)
        case .blockProject: return .blockProject(failure)
        case .resend:
            return .retry(Retry(failure: failure, cause: .refused, floorMs: 0, countsAttempt: false))
        case .retry(let floorMs, let scope):
            return .retry(
                Retry(
                    failure: failure,
                    scope: scope,
                    retryAfterMs: retryAfterMs,
                    floorMs: retryAfterMs == nil ? floorMs : min(floorMs, CodeTable.shortFloorMs)
                )
            )
        }
    }

    static func retryAfterMs(_ answer: HTTPAnswer, nowMs: Int64) -> Int64? {
        answer.retryAfter.flatMap { RetryAfterParser.milliseconds($0, date: answer.date, nowMs: nowMs) }
    }

    private static func transport(_ reason: String) -> Failure {
        Failure(error: .transport, action: .none, rawError: RawError.clean(reason))
    }
}
