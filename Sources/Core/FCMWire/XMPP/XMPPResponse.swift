internal import FanfareJSON
public import FanfareModel

/// XMPP: what an ack or a nack means for the recipient of its message.
///
/// An ack is acceptance; where a group's counts stand beside it, they decide. A nack is FCM's refusal and proves that
/// nothing was sent, so no nack is ambiguous; `error_description` is for people and decides nothing. Anything else in
/// the place of an ack proves nothing.
public enum XMPPResponse {
    /// - Parameters:
    ///   - recipient: what the message was addressed to; a canonical id is one that differs from it.
    ///   - atMostOnce: turns an unknown outcome into the final ``Verdict/unknown(_:retryAfterMs:)``.
    public static func verdict(
        _ outcome: RequestOutcome,
        kind: RecipientKind,
        recipient: String,
        nowMs: Int64,
        atMostOnce: Bool
    ) -> Verdict {
        let unclear = { (reason: String) -> Verdict in
            SharedVerdicts.unanswered(reason, httpStatus: 0, atMostOnce: atMostOnce)
        }
        guard case .stanza(let json) = outcome else {
            return SharedVerdicts.withoutAnswer(outcome, atMostOnce: atMostOnce)
        }
        guard let value = try? JSONParser.parse(json, limits: limits), let object = value.object else {
            return unclear("an ack that is not a JSON object")
        }
        switch object["message_type"]?.string {
        case "ack": return ack(object, value, kind: kind, recipient: recipient) ?? unclear("an ack with an error")
        case "nack": return nack(object, kind: kind) ?? unclear("BAD_ACK")
        default: return unclear("neither ack nor nack")
        }
    }

    /// A stanza is at most this large before its JSON is looked at.
    private static let limits = JSONLimits(maximumDepth: 16, maximumBytes: 65_536)

    private static func ack(
        _ object: JSONObject,
        _ value: JSONValue,
        kind: RecipientKind,
        recipient: String
    ) -> Verdict? {
        guard object["error"] == nil || object["error"] == .null else { return nil }
        // FCM gives no id of its own: the one it echoes is the message's.
        var messageID = ""
        var canonical: String?
        if case .accepted(let id, let other)? = LegacyAnswer(value)?.whole { (messageID, canonical) = (id, other) }
        if kind == .group, let counts = GroupCounts(object) {
            return counts.verdict(
                messageID: messageID,
                httpStatus: 0,
                none: SharedVerdicts.verdict(CodeTable.known(.xmpp, "SERVICE_UNAVAILABLE"))
            )
        }
        return .sent(messageID: messageID, canonical: canonical == recipient ? nil : canonical)
    }

    /// Nil for `BAD_ACK`, which speaks of an ack of ours and touches no recipient.
    private static func nack(_ object: JSONObject, kind: RecipientKind) -> Verdict? {
        let code = object["error"]?.string ?? ""
        guard code != "BAD_ACK" else { return nil }
        // Refused without a reason: another attempt may succeed.
        guard !code.isEmpty else {
            return .retry(Retry(failure: CodeTable.unknown(.xmpp).failure(rawError: "", httpStatus: 0)))
        }
        let row = CodeTable.row(.xmpp, code) ?? CodeTable.unknown(.xmpp)
        let verdict = SharedVerdicts.verdict(row.blaming(kind), rawError: code)
        // A nack answers a send to a group when no member was reached; it may name the members.
        guard kind == .group, let counts = GroupCounts(object) else { return verdict }
        return counts.naming(verdict)
    }
}
