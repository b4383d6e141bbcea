internal import FanfareJSON
public import FanfareModel

/// Legacy HTTP: what one answer means for each recipient of its request, by index.
///
/// A status other than 200 speaks of the whole request. Beside a 200 each token has its own word, and a Retry-After
/// applies to those that are to be tried again. An answer whose entries do not match the request proves nothing about
/// anyone. A 200 whose JSON is lost counts as `sent` for all, since sending again would duplicate.
public enum LegacyResponse {
    /// One verdict for each recipient, in the request's order; always as many as there are recipients.
    ///
    /// - Parameters:
    ///   - recipients: the tokens of the request, or its one topic, condition or group.
    ///   - nowMs: Unix milliseconds, for a Retry-After date.
    ///   - atMostOnce: turns an outcome that nobody knows into the final ``Verdict/unknown(_:holdProjectMs:)``.
    public static func verdicts(
        _ outcome: RequestOutcome,
        recipients: [String],
        kind: RecipientKind,
        nowMs: Int64,
        atMostOnce: Bool
    ) -> [Verdict] {
        let all = { (verdict: Verdict) in [Verdict](repeating: verdict, count: recipients.count) }
        guard case .answered(let answer) = outcome else {
            return all(
                SharedVerdicts.withoutAnswer(outcome, atMostOnce: atMostOnce)
                    ?? SharedVerdicts.unanswered("", httpStatus: 0, atMostOnce: atMostOnce)
            )
        }
        let context = Context(
            answer: answer,
            retryAfterMs: SharedVerdicts.retryAfterMs(answer, nowMs: nowMs),
            atMostOnce: atMostOnce
        )
        guard answer.status == 200 else {
            return all(context.wholeRequest(isOneRecipient: recipients.count == 1))
        }
        switch AnswerBody(answer) {
        case .lost: return all(.sent(messageID: "", canonical: nil))
        case .foreign: return all(context.unclear("not FCM's answer"))
        case .json(let value):
            guard let parsed = LegacyAnswer(value) else { return all(context.unclear("not an object")) }
            return context.verdicts(parsed, recipients: recipients, kind: kind)
        }
    }

    /// What all recipients of one answer share.
    private struct Context {
        let answer: HTTPAnswer
        let retryAfterMs: Int64?
        let atMostOnce: Bool

        func unclear(_ reason: String) -> Verdict {
            SharedVerdicts.unanswered(reason, httpStatus: answer.status, atMostOnce: atMostOnce)
        }

        func verdicts(_ parsed: LegacyAnswer, recipients: [String], kind: RecipientKind) -> [Verdict] {
            if let results = parsed.results {
                guard results.count == recipients.count else {
                    return recipients.map { _ in
                        unclear("\(results.count) results for \(recipients.count) recipients")
                    }
                }
                return zip(results, recipients).map { verdict($0, recipient: $1) }
            }
            if case .rejected(let code) = parsed.whole {
                return recipients.map { _ in rejected(code, isOneRecipient: recipients.count == 1) }
            }
            switch kind {
            case .topic, .condition: return recipients.map { verdict(parsed.whole, recipient: $0) }
            case .group: return recipients.map { _ in group(parsed) }
            case .token, .fid: return recipients.map { _ in unclear("no results") }
            }
        }

        private func verdict(_ entry: LegacyAnswer.Entry, recipient: String) -> Verdict {
            switch entry {
            case .accepted(let messageID, let canonical):
                return .sent(messageID: messageID, canonical: canonical == recipient ? nil : canonical)
            case .rejected(let code): return rejected(code, isOneRecipient: true)
            case .unclear: return unclear("neither message_id nor error")
            }
        }

        /// An error of the whole request proves nothing against one token of many.
        private func rejected(_ code: String, isOneRecipient: Bool) -> Verdict {
            var row = CodeTable.row(.legacy, code) ?? CodeTable.unknown(.legacy)
            if row.action == .remove, !isOneRecipient { row = LegacyResponse.statusRow("HTTP 400") }
            return SharedVerdicts.verdict(
                row,
                rawError: code,
                httpStatus: answer.status,
                retryAfterMs: retryAfterMs
            )
        }

        /// Group answers count members. Where none got the message it is worth another try, as after the 503 that is
        /// documented for this case; where some did, the rest is the producer's to address one by one.
        private func group(_ parsed: LegacyAnswer) -> Verdict {
            let messageID: String
            if case .accepted(let id, _) = parsed.whole { messageID = id } else { messageID = "" }
            guard let group = parsed.group else {
                return messageID.isEmpty ? unclear("no counts") : .sent(messageID: messageID, canonical: nil)
            }
            switch (group.success, group.failure) {
            case (0, 0):
                return .failed(Failure(error: .emptyGroup, action: .none, httpStatus: answer.status))
            case (0, _):
                return rejected("Unavailable", isOneRecipient: true)
            case (_, 0) where group.failedTokens.isEmpty:
                return .sent(messageID: messageID, canonical: nil)
            default:
                return .sentPartly(messageID: messageID, failedTokens: group.failedTokens)
            }
        }

        /// A status other than 200.
        func wholeRequest(isOneRecipient: Bool) -> Verdict {
            let body = try? JSONParser.parse(answer.body)
            let code = body?.object?["error"]?.string ?? text(of: answer)
            let known = CodeTable.row(.legacy, code)
            switch answer.status {
            case 500...599:
                let isServers = known?.error == .unavailable || known?.error == .internalError
                let row = isServers ? known : nil
                let failure = (row ?? LegacyResponse.statusRow("HTTP 5xx"))
                    .failure(rawError: code, httpStatus: answer.status)
                return SharedVerdicts.serverError(failure, retryAfterMs: retryAfterMs, atMostOnce: atMostOnce)
            case 400...499:
                if known != nil { return rejected(code, isOneRecipient: isOneRecipient) }
                guard let row = CodeTable.row(.legacy, "HTTP \(answer.status)") else {
                    let failure = CodeTable.unknown(.legacy).failure(rawError: code, httpStatus: answer.status)
                    return .retry(Retry(failure: failure, retryAfterMs: retryAfterMs))
                }
                return SharedVerdicts.verdict(
                    row,
                    rawError: code,
                    httpStatus: answer.status,
                    retryAfterMs: retryAfterMs
                )
            default:
                return unclear("unexpected status")
            }
        }

        /// The sentence of a plain-text body; pages and JSON are not a word to keep.
        private func text(of answer: HTTPAnswer) -> String {
            guard let type = answer.contentType, AnswerBody.mediaType(type) == "text/plain" else { return "" }
            return RawError.clean(answer.body)
        }
    }

    private static func statusRow(_ code: String) -> CodeRow {
        guard let row = CodeTable.row(.legacy, code) else { preconditionFailure("the table of codes lacks \(code)") }
        return row
    }
}
