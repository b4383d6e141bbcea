internal import FCMWire
internal import FanfareModel

/// Legacy JSON: up to a thousand tokens in a request.
final class MulticastProtocol: MessageProtocol {
    static let route = TransportTraits.multicast.route

    let template: RequestTemplate

    init(_ source: SourceMessage) throws(TranslationError) {
        template = try RequestTemplate(source, transport: .legacy)
    }

    var maximumTokens: Int { Batch.maximumSize }

    func lifetime(of element: PersonalElement?) -> MessageLifetime? { template.lifetime }

    func request(_ recipients: RequestRecipients, _ attempt: Attempt) -> WireRequest {
        var request = WireRequest(Self.route, headers: Self.headers)
        if recipients.count > 1 {
            template.renderMulticast(recipients.texts, nowMs: attempt.nowMs, into: &request.body)
        } else {
            let (kind, name) = (recipients.kind, recipients.name)
            template.render(kind: kind, recipient: name, nowMs: attempt.nowMs, into: &request.body)
        }
        return request
    }

    static func judge(
        _ outcome: RequestOutcome,
        of recipients: () -> RequestRecipients,
        _ terms: JudgementTerms,
        into verdicts: inout [Verdict]
    ) {
        verdicts.append(
            contentsOf: LegacyResponse.verdicts(
                outcome,
                recipients: recipients().names,
                kind: terms.kind,
                nowMs: terms.nowMs,
                atMostOnce: terms.atMostOnce
            )
        )
    }
}
