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

    var isReceipt: Bool { device != nil }

    func isFor(_ to: String) -> Bool { to == from || to == device }

    static func message(
        id: String,
        from: String,
        category: String,
        data: JSONValue,
        expiresMs: Int64,
        isNowOrNever: Bool
    ) -> Upstream {
        let object: JSONObject = [
            "from": .string(from), "category": .string(category), "message_id": .string(id), "data": data,
        ]
        return Upstream(
            messageID: id,
            from: from,
            json: JSONValue.object(object).jsonBytes,
            expiresMs: expiresMs,
            isNowOrNever: isNowOrNever
        )
    }

    /// - Parameters:
    ///   - original: the `message_id` of the message that arrived.
    ///   - sentMs: when it arrived, Unix milliseconds.
    ///   - form: how `data` is written.
    static func receipt(
        of original: String,
        token: String,
        category: String,
        sentMs: Int64,
        form: ReceiptForm = .object
    ) -> Upstream {
        let data: JSONObject = [
            "message_status": "MESSAGE_SENT_TO_DEVICE", "original_message_id": .string(original),
            "device_registration_id": .string(token), "message_sent_timestamp": .string(String(sentMs)),
        ]
        let json = JSONValue.object(data)
        let id = "dr2:" + original
        let object: JSONObject = [
            "message_type": "receipt", "from": .string(XMPPNames.domains[0]), "message_id": .string(id),
            "category": .string(category),
            "data": form == .object ? json : .string(String(decoding: json.jsonBytes, as: UTF8.self)),
        ]
        return Upstream(
            messageID: id,
            from: XMPPNames.domains[0],
            device: token,
            json: JSONValue.object(object).jsonBytes,
            expiresMs: sentMs + UpstreamQueue.longestMs
        )
    }
}

/// How the `data` of a receipt is written. The XMPP reference types it as a string; its samples show an object.
enum ReceiptForm: String, Equatable, Sendable { case object, string }
