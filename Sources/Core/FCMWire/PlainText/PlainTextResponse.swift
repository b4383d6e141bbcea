public import FanfareModel

/// Legacy HTTP in plain text: what one answer means for its one token.
///
/// Codes and statuses mean what they mean in legacy JSON; plain text tells of a server's failure by a 5xx alone. An
/// answer in JSON is read as such. A whole line `id=…` or `Error=…` counts; where a 200 was cut before the end of that
/// line, the outcome is ambiguous.
public enum PlainTextResponse {
    /// - Parameters:
    ///   - recipient: the token that the request named; a canonical id is one that differs from it.
    ///   - nowMs: Unix milliseconds, for a Retry-After date.
    ///   - atMostOnce: turns an unknown outcome into the final ``Verdict/unknown(_:retryAfterMs:)``.
    public static func verdict(
        _ outcome: RequestOutcome,
        recipient: String,
        nowMs: Int64,
        atMostOnce: Bool
    ) -> Verdict {
        guard case .answered(let answer) = outcome else {
            return SharedVerdicts.withoutAnswer(outcome, atMostOnce: atMostOnce)
        }
        let legacy = LegacyVerdicts(answer, kind: .token, nowMs: nowMs, atMostOnce: atMostOnce)
        guard answer.status == 200 else { return legacy.wholeRequest(isOneRecipient: true) }
        if answer.contentType != nil, AnswerBody.isJSON(answer) {
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
        case .rejected(let code, isWhole: true):
            return legacy.rejected(code, isOneRecipient: true)
        case .lost, .rejected(_, isWhole: false):
            return legacy.unclear("the answer was cut short")
        case .foreign:
            return legacy.unclear("not FCM's answer")
        }
    }
}
