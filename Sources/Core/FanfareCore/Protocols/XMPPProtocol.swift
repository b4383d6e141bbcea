internal import FCMWire
internal import FanfareModel

/// XMPP: a message for each recipient. An ack names the message and the recipient.
final class XMPPProtocol: MessageProtocol {
    static let route = TransportTraits.xmpp.route

    let template: XMPPTemplate

    init(_ source: SourceMessage) throws(TranslationError) { template = try XMPPTemplate(source) }

    func lifetime(of element: PersonalElement?) -> MessageLifetime? { template.lifetime }

    func request(_ recipients: RequestRecipients, _ attempt: Attempt) -> WireRequest {
        var request = WireRequest(Self.route, headers: Self.headers)
        Self.address(&request, recipients, attempt)
        template.render(
            kind: recipients.kind,
            recipient: recipients.name,
            messageID: request.messageID,
            into: &request.body
        )
        return request
    }

    static func address(_ request: inout WireRequest, _ recipients: RequestRecipients, _ attempt: Attempt) {
        let id = XMPPMessageID(job: attempt.job, index: attempt.index, attempt: attempt.number, nonce: attempt.nonce)
        request.messageID = id.description
        request.recipient = nameInAnswer(recipients)
    }

    /// The name in an ack; empty for a condition, which no ack names.
    static func nameInAnswer(_ recipients: RequestRecipients) -> String {
        switch recipients.kind {
        case .token, .fid, .group: recipients.name
        case .topic: "/topics/" + recipients.name
        case .condition: ""
        }
    }

    static func judge(
        _ outcome: RequestOutcome,
        of recipients: () -> RequestRecipients,
        _ terms: JudgementTerms,
        into verdicts: inout [Verdict]
    ) {
        verdicts.append(
            XMPPResponse.verdict(
                outcome,
                kind: terms.kind,
                recipient: recipients().name,
                nowMs: terms.nowMs,
                atMostOnce: terms.atMostOnce
            )
        )
    }
}
