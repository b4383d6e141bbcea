internal import FCMWire
internal import FanfareModel

/// Legacy plain text: one token in a request, and of a message little more than data.
final class PlainTextProtocol: MessageProtocol {
    static let route = TransportTraits.plainText.route
    static let headers = HeaderSet.form

    let template: PlainTextTemplate

    init(_ source: SourceMessage) throws(TranslationError) { template = try PlainTextTemplate(source) }

    func lifetime(of element: PersonalElement?) -> MessageLifetime? { template.lifetime }

    func request(_ recipients: RequestRecipients, _ attempt: Attempt) -> WireRequest {
        var request = WireRequest(Self.route, headers: Self.headers)
        template.render(token: recipients.name, into: &request.body)
        return request
    }

    static func judge(
        _ outcome: RequestOutcome,
        of recipients: () -> RequestRecipients,
        _ terms: JudgementTerms,
        into verdicts: inout [Verdict]
    ) {
        verdicts.append(
            PlainTextResponse.verdict(
                outcome,
                recipient: recipients().name,
                nowMs: terms.nowMs,
                atMostOnce: terms.atMostOnce
            )
        )
    }
}
