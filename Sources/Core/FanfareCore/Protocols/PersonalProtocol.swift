internal import FCMWire
internal import FanfareModel

/// A message for each recipient, a request each, over the transport of equal messages.
final class PersonalProtocol: WireProtocol {
    private let sends: PersonalSends
    private let message: any MessageProtocol.Type

    init(_ sends: PersonalSends, _ settings: ProtocolSettings) {
        self.sends = sends
        message = settings.messageProtocol
    }

    var route: Route { message.route }
    var isManagement: Bool { false }

    func lifetime(of element: PersonalElement?) -> MessageLifetime? { sends.lifetime(of: element) }

    func failure(of recipient: HeldRecipient, kind: RecipientKind) -> Failure? {
        recipient.element.flatMap { sends.failure(of: $0) }
    }

    func request(_ recipients: RequestRecipients, _ attempt: Attempt) -> WireRequest {
        guard let element = recipients.element?.content else { preconditionFailure("failure() was asked first") }
        var request = WireRequest(message.route, headers: message.headers)
        message.address(&request, recipients, attempt)
        sends.render(element, messageID: request.messageID, nowMs: attempt.nowMs, into: &request.body)
        return request
    }

    func judge(
        _ outcome: RequestOutcome,
        of recipients: () -> RequestRecipients,
        _ terms: JudgementTerms,
        into verdicts: inout [Verdict]
    ) { message.judge(outcome, of: recipients, terms, into: &verdicts) }
}
