internal import FanfareJSON
internal import FanfareModel

/// A message that FCM sends over XMPP of its own accord, again on another connection until it is acknowledged.
public struct XMPPIncoming: Equatable, Sendable {
    public enum Kind: Equatable, Sendable {
        /// From an app.
        case message
        /// A report on a message that Fanfare sent; `status` names the event.
        ///
        /// - Parameters:
        ///   - originalMessageID: as it was sent: ``XMPPMessageID`` reads it if it is one of ours.
        ///   - token: the device's; empty when the receipt did not name it.
        ///   - sentMs: Unix milliseconds, by FCM's clock; nil if the receipt has none.
        case receipt(status: String, originalMessageID: String, token: String, sentMs: Int64?)
    }

    public var kind: Kind
    /// The sender's token; of a receipt FCM's own name. An acknowledgement is addressed to it.
    public var from: String
    /// The app's package or bundle name; may be empty.
    public var category: String
    public var messageID: String
    /// JSON text of `data`, of any type; `{}` when the stanza had none. A receipt's `data` may be a string that holds
    /// an object: then it is that object.
    public var data: [UInt8]

    /// The most bytes of an id or of a sender's name. What FCM sends is far below; the rest of a stanza is bounded as a
    /// whole.
    static let maximumNameBytes = 4_096
}

extension XMPPIncoming {
    /// - Returns: nil when it names no sender or no id, and so could never be acknowledged.
    init?(_ object: JSONObject, isReceipt: Bool) {
        guard let from = object["from"]?.string, let messageID = object["message_id"]?.string,
            !from.isEmpty, !messageID.isEmpty, from.utf8.count <= Self.maximumNameBytes,
            messageID.utf8.count <= Self.maximumNameBytes
        else { return nil }
        var data = object["data"] ?? .object(JSONObject())
        let kind: Kind
        if isReceipt {
            if let quoted = data.string.flatMap({ XMPPArrival.object(Array($0.utf8)) }) { data = .object(quoted) }
            let facts = data.object ?? JSONObject()
            kind = .receipt(
                status: RawError.clean(facts["message_status"]?.string ?? ""),
                originalMessageID: facts["original_message_id"]?.string ?? Self.originalID(receiptID: messageID),
                token: facts["device_registration_id"]?.string ?? "",
                sentMs: Self.milliseconds(facts["message_sent_timestamp"])
            )
        } else {
            kind = .message
        }
        self.init(
            kind: kind,
            from: from,
            category: object["category"]?.string ?? "",
            messageID: messageID,
            data: data.jsonBytes
        )
    }

    /// A receipt's id is `dr2:` and the id of the message that it confirms; empty for an id without that prefix.
    private static func originalID(receiptID: String) -> String {
        receiptID.hasPrefix("dr2:") ? String(receiptID.dropFirst("dr2:".count)) : ""
    }

    /// Written as a string in the documentation's sample, as a number elsewhere.
    private static func milliseconds(_ value: JSONValue?) -> Int64? {
        if let text = value?.string { return Int64(text) }
        return value?.number?.wholeInt64
    }
}
