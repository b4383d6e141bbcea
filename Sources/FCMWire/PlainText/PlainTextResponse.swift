public import FanfareModel

/// Legacy HTTP in plain text: what one answer means for its one token.
///
/// The codes are those of legacy JSON, and so is everything that a status says; plain text tells of a server's trouble
/// by a 5xx alone. An answer in JSON is read as such. A 200 whose lines are lost counts as `sent` with an empty id, since
/// sending again would duplicate; a refusal that was cut short was a refusal, and sending again is safe.
public enum PlainTextResponse {
    /// - Parameters:
    ///   - recipient: the token that the request named; a canonical id is one that differs from it.
    ///   - nowMs: Unix milliseconds, for a Retry-After date.
    ///   - atMostOnce: turns an outcome that nobody knows into the final ``Verdict/unknown(_:holdProjectMs:)``.
    public static func verdict(
        _ outcome: RequestOutcome,
        recipient: String,
        nowMs: Int64,
        atMostOnce: Bool
    ) -> Verdict {
        guard case .answered(let answer) = outcome else {
            return SharedVerdicts.withoutAnswer(outcome, atMostOnce: atMostOnce)
                ?? SharedVerdicts.unanswered("not an HTTP answer", httpStatus: 0, atMostOnce: atMostOnce)
        }
        let legacy = LegacyVerdicts(answer, kind: .token, nowMs: nowMs, atMostOnce: atMostOnce)
        guard answer.status == 200 else { return legacy.wholeRequest(errorText(answer), isOneRecipient: true) }
        if let type = answer.contentType, AnswerBody.mediaType(type) == "application/json" {
            let all = LegacyResponse.verdicts(
                outcome,
                recipients: [recipient],
                kind: .token,
                nowMs: nowMs,
                atMostOnce: atMostOnce
            )
            return all.first ?? legacy.unclear("no results")
        }
        switch PlainTextAnswer(answer) {
        case .accepted(let messageID, let canonical):
            return .sent(messageID: messageID, canonical: canonical == recipient ? nil : canonical)
        case .lost:
            return .sent(messageID: "", canonical: nil)
        case .foreign:
            return legacy.unclear("not FCM's answer")
        case .rejected(let code, let isWhole):
            if isWhole || CodeTable.row(.legacy, code) != nil { return legacy.rejected(code, isOneRecipient: true) }
            let failure = CodeTable.unknown(.legacy).failure(rawError: code, httpStatus: answer.status)
            return .retry(Retry(failure: failure, retryAfterMs: legacy.retryAfterMs))
        }
    }

    /// A status other than 200 may name its error in the same words.
    private static func errorText(_ answer: HTTPAnswer) -> String {
        if case .rejected(let code, _) = PlainTextAnswer(answer) { return code }
        return AnswerBody.errorText(answer)
    }
}
