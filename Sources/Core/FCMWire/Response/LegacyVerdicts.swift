internal import FanfareModel

/// The verdicts on one answer of legacy HTTP, JSON or text.
struct LegacyVerdicts {
    let answer: HTTPAnswer
    let kind: RecipientKind
    let advice: RetryAdvice
    let atMostOnce: Bool

    init(_ answer: HTTPAnswer, kind: RecipientKind, nowMs: Int64, atMostOnce: Bool) {
        self.answer = answer
        self.kind = kind
        advice = RetryAdvice(answer, nowMs: nowMs)
        self.atMostOnce = atMostOnce
    }

    func unclear(_ reason: String) -> Verdict {
        SharedVerdicts.unanswered(reason, httpStatus: answer.status, atMostOnce: atMostOnce)
    }

    func verdicts(_ parsed: LegacyAnswer, recipients: [String]) -> [Verdict] {
        if let results = parsed.results { return verdicts(results, recipients: recipients) }
        if case .rejected(let code) = parsed.whole {
            return recipients.map { _ in rejected(code, isOneRecipient: recipients.count == 1) }
        }
        switch kind {
        case .topic, .condition: return recipients.map { verdict(parsed.whole, recipient: $0) }
        case .group: return recipients.map { _ in group(parsed) }
        case .token, .fid: return recipients.map { _ in unclear("no results") }
        }
    }

    private func unclear(_ results: Int, for recipients: Int) -> Verdict {
        unclear("\(results) results for \(recipients) recipients")
    }

    /// Verdicts from one entry for each token.
    func verdicts(_ results: [LegacyAnswer.Entry], recipients: [String]) -> [Verdict] {
        guard results.count == recipients.count else {
            return recipients.map { _ in unclear(results.count, for: recipients.count) }
        }
        return zip(results, recipients).map { verdict($0, recipient: $1) }
    }

    /// Verdicts from a body that was cut short. If its array ended, their number must match the request, as in a whole
    /// body.
    func verdicts(_ front: LegacyFront, recipients: [String]) -> [Verdict] {
        let known = front.results.count
        guard known == recipients.count || (known < recipients.count && !front.isWhole) else {
            return recipients.map { _ in unclear(known, for: recipients.count) }
        }
        return recipients.enumerated().map { index, recipient in
            index < known
                ? verdict(front.results[index], recipient: recipient)
                : unclear("the answer was cut short or is malformed")
        }
    }

    func verdict(_ entry: LegacyAnswer.Entry, recipient: String) -> Verdict {
        switch entry {
        case .accepted(let messageID, let canonical):
            return .sent(messageID: messageID, canonical: canonical == recipient ? nil : canonical)
        case .rejected(let code): return rejected(code, isOneRecipient: true)
        case .unclear: return unclear("neither message_id nor error")
        }
    }

    /// An error of the whole request proves nothing against one token of many.
    func rejected(_ code: String, isOneRecipient: Bool) -> Verdict {
        let row = CodeTable.row(.legacy, code) ?? CodeTable.unknown(.legacy)
        return SharedVerdicts.verdict(
            row.action == .remove && !isOneRecipient ? CodeTable.known(.legacy, "HTTP 400") : row.blaming(kind),
            rawError: code,
            httpStatus: answer.status,
            advice
        )
    }

    private func group(_ parsed: LegacyAnswer) -> Verdict {
        let messageID: String
        if case .accepted(let id, _) = parsed.whole { messageID = id } else { messageID = "" }
        guard let group = parsed.group else {
            return messageID.isEmpty ? unclear("no counts") : .sent(messageID: messageID, canonical: nil)
        }
        // FCM documents a 503 for a group without a reached member; such counts mean the same.
        return group.verdict(
            messageID: messageID,
            httpStatus: answer.status,
            none: rejected("Unavailable", isOneRecipient: true)
        )
    }

    /// The verdict on a status other than 200.
    func wholeRequest(isOneRecipient: Bool) -> Verdict {
        guard (400...599).contains(answer.status) else { return unclear("unexpected status") }
        guard let code = LegacyError(answer)?.code else {
            return ForeignAnswer.verdict(answer, advice, atMostOnce: atMostOnce)
        }
        let status = answer.status
        if status >= 500 {
            let failure = CodeTable.serverError(.legacy, code).failure(rawError: code, httpStatus: status)
            return SharedVerdicts.serverError(failure, advice, atMostOnce: atMostOnce)
        }
        if CodeTable.row(.legacy, code) != nil { return rejected(code, isOneRecipient: isOneRecipient) }
        if status == 408 || status == 421 || status == 425 {
            let failure = CodeTable.unknown(.legacy).failure(rawError: code, httpStatus: status)
            return SharedVerdicts.byStatus(failure, advice, atMostOnce: atMostOnce)
        }
        return SharedVerdicts.verdict(
            CodeTable.row(.legacy, "HTTP \(status)") ?? CodeTable.unknown(.legacy),
            rawError: code,
            httpStatus: status,
            advice
        )
    }
}
