internal import FCMWire
internal import FanfareModel

/// HTTP v1: a request for each recipient.
final class V1Protocol: MessageProtocol {
    static let route = TransportTraits.v1.route

    let template: RequestTemplate

    init(_ source: SourceMessage) throws(TranslationError) {
        template = try RequestTemplate(source, transport: .v1)
    }

    func lifetime(of element: PersonalElement?) -> MessageLifetime? { template.lifetime }

    func request(_ recipients: RequestRecipients, _ attempt: Attempt) -> WireRequest {
        var request = WireRequest(Self.route, headers: Self.headers)
        template.render(
            kind: recipients.kind,
            recipient: recipients.name,
            nowMs: attempt.nowMs,
            into: &request.body
        )
        return request
    }

    static func judge(
        _ outcome: RequestOutcome,
        of recipients: () -> RequestRecipients,
        _ terms: JudgementTerms,
        into verdicts: inout [Verdict]
    ) {
        verdicts.append(
            V1Response.verdict(outcome, kind: terms.kind, nowMs: terms.nowMs, atMostOnce: terms.atMostOnce)
        )
    }
}
