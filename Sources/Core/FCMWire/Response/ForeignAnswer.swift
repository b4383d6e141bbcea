public import FanfareModel

/// Recognizes answers that something between the worker and FCM gave, such as a proxy, a firewall or a captive portal.
/// Such an answer says nothing about the project, the message or the recipient.
///
/// FCM's own answers are recognized by their body, because a page may have any status:
///
/// | interface | FCM's own answer of 400 to 599 |
/// |---|---|
/// | v1 | Google's error object |
/// | legacy | Google's error object; JSON with a text `error`; plain text `Error=…`; the sentences of a 400; the page of a 401; any 5xx that is not HTML |
/// | Instance ID, device groups | Google's error object; JSON with a text `error`; the words of a 400 of device groups; the page of a 401 |
public enum ForeignAnswer {
    /// Statuses by which a server says that it did not process the request (RFC 9110, 15.5; RFC 8470, 5.2; RFC 6585).
    /// After every other status of a page, the request may have been carried out.
    static let refusals: Set<Int> = [401, 403, 404, 405, 407, 411, 413, 414, 415, 421, 425, 429, 431]

    /// The answer in the words of a `raw_error`, such as `HTTP 403, text/html`.
    static func text(_ answer: HTTPAnswer) -> String {
        let type = AnswerBody.mediaType(answer.contentType ?? "")
        // The proxy's own status: FCM never asks for it.
        let cause = answer.status == 407 ? ": the proxy asks for a login" : ""
        return RawError.clean("HTTP \(answer.status)" + (type.isEmpty ? "" : ", \(type.prefix(64))") + cause)
    }

    /// The verdict on a foreign answer of 400 to 599.
    static func verdict(_ answer: HTTPAnswer, _ advice: RetryAdvice, atMostOnce: Bool) -> Verdict {
        let failure = Failure(
            error: .unspecified,
            action: .none,
            rawError: text(answer),
            httpStatus: answer.status
        )
        return SharedVerdicts.byStatus(failure, advice, atMostOnce: atMostOnce)
    }

    /// Google's servlets answer a refused server key with a page of their own; so does the sandbox.
    static func isGooglesPage(_ answer: HTTPAnswer) -> Bool {
        answer.status == 401 && String(decoding: answer.body.prefix(4_096), as: UTF8.self).contains("Error 401")
    }
}

extension RequestOutcome {
    /// This outcome as it tells whether FCM can be reached: a foreign answer is none, and its status is the reason.
    ///
    /// - Parameter forms: of the platform's own answers.
    public func reaching(_ forms: TransportTraits.AnswerForms) -> RequestOutcome {
        guard case .answered(let answer) = self else { return self }
        let legacy = forms == .legacy
        let isOwn =
            switch answer.status {
            case 200...299: (legacy && AnswerBody.isText(answer)) || AnswerBody.isJSON(answer)
            case 400...599: legacy ? LegacyError(answer) != nil : ManagementError(answer) != nil
            default: false
            }
        return isOwn ? self : .ambiguous(reason: "\(ForeignAnswer.text(answer)): not FCM's answer")
    }
}
