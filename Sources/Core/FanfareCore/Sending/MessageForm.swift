internal import FCMWire
internal import FanfareModel

/// The protocol of a message's requests and answers.
enum MessageForm: Sendable {
    case v1, multicast, plainText, xmpp

    init(_ settings: ProtocolSettings) {
        switch (settings.transport, settings.legacyBody) {
        case (.v1, _): self = .v1
        case (.xmpp, _): self = .xmpp
        case (.legacy, .json): self = .multicast
        case (.legacy, .text): self = .plainText
        }
    }

    /// Appends a verdict for each recipient of the request, in the request's order.
    func judge(
        _ outcome: RequestOutcome,
        of recipients: () -> ProtocolAdapter.Recipients,
        kind: RecipientKind,
        nowMs: Int64,
        atMostOnce: Bool,
        into verdicts: inout [Verdict]
    ) {
        switch self {
        case .v1: verdicts.append(V1Response.verdict(outcome, kind: kind, nowMs: nowMs, atMostOnce: atMostOnce))
        case .multicast:
            verdicts.append(
                contentsOf: LegacyResponse.verdicts(
                    outcome,
                    recipients: recipients().names,
                    kind: kind,
                    nowMs: nowMs,
                    atMostOnce: atMostOnce
                )
            )
        case .plainText:
            let name = recipients().name
            verdicts.append(
                PlainTextResponse.verdict(outcome, recipient: name, nowMs: nowMs, atMostOnce: atMostOnce)
            )
        case .xmpp:
            let name = recipients().name
            verdicts.append(
                XMPPResponse.verdict(outcome, kind: kind, recipient: name, nowMs: nowMs, atMostOnce: atMostOnce)
            )
        }
    }
}
