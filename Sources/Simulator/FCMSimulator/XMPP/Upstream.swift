import FanfareJSON

/// One message to the app server: from a device, or a receipt from FCM.
struct Upstream: Equatable, Sendable {
    var messageID: String
    /// The `to` of its ack.
    var from: String
    /// Receipts: the device, which the ack may name instead; nil for a message of a device.
    var device: String?
    /// The JSON of the stanza.
    var json: [UInt8]
    /// Unix milliseconds.
    var expiresMs: Int64
    /// Sent on a connection that is there, or dropped.
    var isNowOrNever = false

    func isFor(_ to: String) -> Bool { to.isExactly(from) || device.isExactly(to) }

    /// The receipt for a message that its device has; `original` is the `message_id` that the sender chose.
    static func receipt(for delivery: Delivery, original: String, form: ReceiptForm) -> Upstream {
        let token = delivery.accepted.token
        let data: JSONValue = .object([
            "message_status": "MESSAGE_SENT_TO_DEVICE", "original_message_id": .string(original),
            "device_registration_id": .string(token), "message_sent_timestamp": .string(String(delivery.timeMs)),
        ])
        let id = "dr2:" + original
        let object: JSONObject = [
            "message_type": "receipt", "from": .string(XMPPNames.domains[0]), "message_id": .string(id),
            "category": .string(delivery.package ?? "com.example.app"),
            "data": form == .object ? data : .string(data.jsonText),
        ]
        return Upstream(
            messageID: id,
            from: XMPPNames.domains[0],
            device: token,
            json: JSONValue.object(object).jsonBytes,
            expiresMs: delivery.timeMs + UpstreamQueue.longestMs
        )
    }
}

/// How the `data` of a receipt is written. The XMPP reference types it as a string; its samples show an object.
enum ReceiptForm: String, Equatable, Sendable { case object, string }

/// A message whose sender wants a receipt.
struct AwaitedReceipt: Equatable, Sendable {
    /// Project id.
    var project: String
    /// The `message_id` that the sender chose.
    var original: String
    /// Unix milliseconds.
    var expiresMs: Int64
}
