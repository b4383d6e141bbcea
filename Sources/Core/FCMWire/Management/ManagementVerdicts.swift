internal import FanfareModel

/// Verdicts that the management interfaces share. Their operations are idempotent, so an unknown outcome is retried and
/// no result is flagged `maybe_dup`.
///
/// An operation that its API refuses fails; sends and other operations continue, because sends go to another API.
struct ManagementVerdicts {
    let family: CodeFamily
    /// False for a server key, which cannot be renewed: an operation that is refused with it fails at once.
    let canRefresh: Bool

    /// The verdict on a request without an HTTP answer.
    func withoutAnswer(_ outcome: RequestOutcome) -> Verdict {
        switch outcome {
        case .answered, .stanza: return unclear("not an HTTP answer", httpStatus: 0)
        case .ambiguous(let reason): return unclear(reason.description, httpStatus: 0)
        case .unsent, .refused: return SharedVerdicts.withoutAnswer(outcome, atMostOnce: false)
        }
    }

    /// The verdict on an answer that is not FCM's.
    func unclear(_ reason: String, httpStatus: Int) -> Verdict {
        let failure = Failure(
            error: .unspecified,
            action: .none,
            rawError: RawError.clean(reason),
            httpStatus: httpStatus
        )
        return .retry(Retry(failure: failure, cause: .unanswered))
    }

    /// The verdict on a status other than 200: it concerns the request, never one of several tokens.
    func wholeRequest(_ answer: HTTPAnswer, nowMs: Int64) -> Verdict {
        guard (400...599).contains(answer.status) else {
            return unclear("unexpected status", httpStatus: answer.status)
        }
        let advice = RetryAdvice(answer, nowMs: nowMs)
        guard let code = ManagementError(answer)?.code else {
            return foreign(answer, advice)
        }
        if answer.status >= 500 {
            let failure = CodeTable.serverError(family, code).failure(rawError: code, httpStatus: answer.status)
            return retry(failure, advice)
        }
        guard let row = CodeTable.row(family, "HTTP \(answer.status)") else {
            let failure = CodeTable.unknown(family).failure(rawError: code, httpStatus: answer.status)
            return retry(failure, advice)
        }
        return verdict(row, rawError: code, httpStatus: answer.status, advice)
    }

    private func foreign(_ answer: HTTPAnswer, _ advice: RetryAdvice) -> Verdict {
        let verdict = ForeignAnswer.verdict(answer, advice, atMostOnce: false)
        // A topic operation does no harm when it is repeated; a group that exists already does.
        guard family != .deviceGroup, case .retry(var retry) = verdict else { return verdict }
        retry.mayHaveArrived = false
        return .retry(retry)
    }

    func verdict(_ row: CodeRow, rawError: String, httpStatus: Int, _ advice: RetryAdvice? = nil) -> Verdict {
        let verdict = SharedVerdicts.verdict(
            row,
            rawError: rawError,
            httpStatus: httpStatus,
            advice
        )
        return row.action == .fixCredentials ? refused(verdict) : verdict
    }

    /// The verdict on an operation that its API refuses. The failure names the API beside the wire's code, because
    /// sends with the same credentials may continue.
    func refused(_ verdict: Verdict) -> Verdict {
        switch verdict {
        case .refreshCredential(let failure) where canRefresh: .refreshCredential(named(failure))
        case .refreshCredential(let failure), .blockProject(let failure), .failed(let failure): .failed(named(failure))
        case .sent, .sentPartly, .managed, .listed, .unknown, .retry: verdict
        }
    }

    private func named(_ failure: Failure) -> Failure {
        var failure = failure
        let code = failure.rawError.isEmpty ? "HTTP \(failure.httpStatus)" : failure.rawError
        failure.rawError = RawError.clean("\(api): \(code)")
        return failure
    }

    private var api: String {
        switch family {
        case .instanceID: "Instance ID API"
        case .deviceGroup: "device group API"
        case .v1: "v1 topic API"
        case .legacy, .xmpp: "FCM"
        }
    }

    /// A retry of the recipient alone: a refusal of management does not concern the project's sends.
    private func retry(_ failure: Failure, _ advice: RetryAdvice) -> Verdict {
        let floorMs = max(CodeTable.shortFloorMs, advice.floorMs)
        return .retry(Retry(failure: failure, retryAfterMs: advice.waitMs, floorMs: floorMs))
    }
}
