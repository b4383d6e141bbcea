internal import FanfareJSON
public import FanfareModel

/// Legacy HTTP: what one answer means for each recipient of its request, by index.
///
/// A status other than 200 concerns the whole request. A 200 has a result for each token, and a Retry-After applies to
/// the tokens that are retried. If the results do not match the request in number, no outcome is known. If the body was
/// cut short, the complete results at its front count by position, and every other outcome is ambiguous.
public enum LegacyResponse {
    /// One verdict for each recipient, in the request's order; always as many as there are recipients.
    ///
    /// - Parameters:
    ///   - recipients: the tokens of the request, or its one topic, condition or group.
    ///   - nowMs: Unix milliseconds, for a Retry-After date.
    ///   - atMostOnce: turns an unknown outcome into the final ``Verdict/unknown(_:retryAfterMs:)``.
    public static func verdicts(
        _ outcome: RequestOutcome,
        recipients: [String],
        kind: RecipientKind,
        nowMs: Int64,
        atMostOnce: Bool
    ) -> [Verdict] {
        let all = { (verdict: Verdict) in [Verdict](repeating: verdict, count: recipients.count) }
        guard case .answered(let answer) = outcome else {
            return all(SharedVerdicts.withoutAnswer(outcome, atMostOnce: atMostOnce))
        }
        let context = LegacyVerdicts(answer, kind: kind, nowMs: nowMs, atMostOnce: atMostOnce)
        guard answer.status == 200 else {
            return all(context.wholeRequest(isOneRecipient: recipients.count == 1))
        }
        guard AnswerBody.isJSON(answer) else { return all(context.unclear("not FCM's answer")) }
        // A closed object is whole, even if the stream did not end after it.
        guard let value = try? JSONParser.parse(answer.body) else {
            return context.verdicts(LegacyFront(answer.body), recipients: recipients)
        }
        guard let parsed = LegacyAnswer(value) else { return all(context.unclear("not an object")) }
        return context.verdicts(parsed, recipients: recipients)
    }
}
