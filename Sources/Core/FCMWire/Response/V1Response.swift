internal import FanfareJSON
public import FanfareModel

/// HTTP v1: the verdict on one answer's recipient. The first matching rule wins:
///
/// 1. no answer: by what is proved of the request (unsent, refused, unanswered);
/// 2. 200 to 299 with the message's name: `sent`. A 200 without a name, or whose JSON is lost, is `sent` with an empty
///    id. Any other 2xx, such as one that is not JSON, is not FCM's;
/// 3. 400 to 599 without Google's error object: a ``ForeignAnswer``, which blames nothing and is retried;
/// 4. 500 to 599: retried. With `at_most_once` only a 503 with Retry-After is; any other is `unknown`;
/// 5. `UNREGISTERED` or an APNs status of 410: the token is removed; so it is by an APNs 400 with `BadDeviceToken`. Its
///    `DeviceTokenNotForTopic` blames the credentials: the key's app is another one;
/// 6. `RATE_LIMIT_EXCEEDED` beside a 429: the project waits;
/// 7. any other code of `FcmError` that the table knows: its row. In particular `THIRD_PARTY_AUTH_ERROR` comes with a
///    401 that no new access token would cure;
/// 8. the status: 400 blames the message, or the recipient where the details prove it; 401 refreshes the access token;
///    403, and 404 without `FcmError`, block the project; 429 waits; 408, 421 and 425 without `FcmError` are retried;
/// 9. another 4xx is final; any other status is not FCM's.
public enum V1Response {
    /// - Parameters:
    ///   - kind: what the recipient is named by; it decides whether a quota is a topic's or a device's.
    ///   - nowMs: Unix milliseconds, for a Retry-After date.
    ///   - atMostOnce: turns an unknown outcome into the final ``Verdict/unknown(_:retryAfterMs:)``.
    public static func verdict(
        _ outcome: RequestOutcome,
        kind: RecipientKind,
        nowMs: Int64,
        atMostOnce: Bool
    ) -> Verdict {
        guard case .answered(let answer) = outcome else {
            return SharedVerdicts.withoutAnswer(outcome, atMostOnce: atMostOnce)
        }
        switch answer.status {
        case 200...299:
            return success(answer, kind: kind, nowMs: nowMs, atMostOnce: atMostOnce)
        case 400...599:
            guard let envelope = V1ErrorEnvelope(answer.body) else {
                return ForeignAnswer.verdict(answer, RetryAdvice(answer, nowMs: nowMs), atMostOnce: atMostOnce)
            }
            let advice = RetryAdvice(answer, info: envelope.retryDelay, nowMs: nowMs)
            let (status, raw) = (answer.status, envelope.rawError)
            if status >= 500 {
                let failure = CodeTable.serverError(.v1, envelope.fcmCode, envelope.status)
                    .failure(rawError: raw, httpStatus: status)
                return SharedVerdicts.serverError(failure, advice, atMostOnce: atMostOnce)
            }
            if envelope.fcmCode == nil, status == 408 || status == 421 || status == 425 {
                let failure = CodeTable.unknown(.v1).failure(rawError: raw, httpStatus: status)
                return SharedVerdicts.byStatus(failure, advice, atMostOnce: atMostOnce)
            }
            return SharedVerdicts.verdict(
                row(status, envelope, kind: kind),
                rawError: raw,
                httpStatus: status,
                advice
            )
        default:
            return SharedVerdicts.unanswered("unexpected status", httpStatus: answer.status, atMostOnce: atMostOnce)
        }
    }

    private static func success(
        _ answer: HTTPAnswer,
        kind: RecipientKind,
        nowMs: Int64,
        atMostOnce: Bool
    ) -> Verdict {
        if let name = AnswerBody.loneName(answer) { return .sent(messageID: AnswerBody.keptID(name), canonical: nil) }
        switch AnswerBody(answer) {
        case .json(let value):
            // No documentation shows counts here; if they come, they mean the same as elsewhere.
            if kind == .group, answer.status == 200, let counts = value.object.flatMap(GroupCounts.init) {
                return counts.verdict(
                    messageID: AnswerBody.keptID(value.object?["name"]?.string ?? ""),
                    httpStatus: answer.status,
                    none: SharedVerdicts.verdict(
                        statusRow("UNAVAILABLE"),
                        httpStatus: answer.status,
                        RetryAdvice(answer, nowMs: nowMs)
                    )
                )
            }
            if let name = value.object?["name"]?.string {
                return .sent(messageID: AnswerBody.keptID(name), canonical: nil)
            }
            // A group's answer has no name; after any other 200 in JSON, a second send would be a duplicate.
            if answer.status == 200 { return .sent(messageID: "", canonical: nil) }
        case .lost:
            if answer.status == 200 { return .sent(messageID: "", canonical: nil) }
        case .foreign:
            break
        }
        return SharedVerdicts.unanswered("not FCM's answer", httpStatus: answer.status, atMostOnce: atMostOnce)
    }

    /// The row that decides an answer of 400 to 499.
    private static func row(_ status: Int, _ envelope: V1ErrorEnvelope, kind: RecipientKind) -> CodeRow {
        let code = envelope.fcmCode
        if code == "UNREGISTERED" { return statusRow("UNREGISTERED") }
        if envelope.apnsStatus == 410 { return statusRow("ApnsError 410") }
        if status == 429, envelope.reasons.contains("RATE_LIMIT_EXCEEDED") {
            return statusRow("RATE_LIMIT_EXCEEDED")
        }
        if code == "INVALID_ARGUMENT" || (status == 400 && code == nil) {
            let isDevice = kind != .topic && kind != .condition
            if envelope.provesBadRecipient, isDevice { return statusRow("INVALID_ARGUMENT (recipient)") }
            if envelope.apnsStatus == 400, isDevice, let reason = envelope.apnsReason,
                let row = CodeTable.row(.v1, "ApnsError 400 \(reason)")
            {
                return row
            }
            return statusRow(code == nil ? "HTTP 400" : "INVALID_ARGUMENT")
        }
        if code == "QUOTA_EXCEEDED" {
            if kind == .topic || kind == .condition { return statusRow("QUOTA_EXCEEDED (topic)") }
            return statusRow(envelope.hasQuotaFailure ? "QUOTA_EXCEEDED (device)" : "QUOTA_EXCEEDED")
        }
        if let code, let known = CodeTable.row(.v1, code) { return known }
        switch status {
        case 400, 401, 403, 429: return statusRow("HTTP \(status)")
        case 404 where code == nil: return statusRow("HTTP 404")
        default: return CodeTable.unknown(.v1)
        }
    }

    private static func statusRow(_ code: String) -> CodeRow {
        CodeTable.known(.v1, code)
    }
}
