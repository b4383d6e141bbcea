import FanfareJSON

/// What a device received, as that device sees it: one line of `GET /deliveries`.
extension Delivery {
    var line: [UInt8] {
        let view: (headers: JSONObject, payload: JSONObject)
        switch source {
        case .v1(let body):
            let message = V1Request.message(in: body) ?? JSONObject()
            switch platform {
            case .android: view = androidView(V1Content.android(message))
            case .apple: view = V1Content.apple(message, of: self)
            case .web: view = V1Content.web(message, of: self)
            }
        case .legacy(let body):
            let root = (try? JSONParser.parse(body))?.object ?? JSONObject()
            view = platform == .apple ? LegacyContent.apple(root, of: self) : androidView(LegacyContent.common(root))
        case .plainText(let body):
            view = androidView(LegacyContent.plainText(body))
        case .none: view = (JSONObject(), eventPayload)
        }
        let object: JSONObject = [
            "token": .string(token), "platform": .string(platform.rawValue), "time_ms": .number(JSONNumber(timeMs)),
            "message_id": .string(messageID), "headers": .object(view.headers), "payload": .object(view.payload),
        ]
        return JSONValue.object(object).jsonBytes + [UInt8(ascii: "\n")]
    }

    private var eventPayload: JSONObject {
        guard case .deletedMessages(let count) = event else { return JSONObject() }
        return ["message_type": "deleted_messages", "total_deleted": .string(String(count))]
    }

    /// Data keys at the top level, beside what the client library adds.
    private func androidView(_ content: MessageContent) -> (headers: JSONObject, payload: JSONObject) {
        var payload: JSONObject = [
            "from": .string(from ?? senderID), "google.message_id": .string(messageID),
            "google.sent_time": .number(JSONNumber(timeMs)),
        ]
        for member in content.data.members { payload[member.key] = member.value }
        if !content.notification.isEmpty { payload["notification"] = .object(content.notification) }
        return (content.options, payload)
    }
}

/// A message reduced to what one device gets.
struct MessageContent {
    var data = JSONObject()
    var notification = JSONObject()
    /// Priority, lifetime and collapse key, as they were given.
    var options = JSONObject()
}

enum V1Content {
    static func android(_ message: JSONObject) -> MessageContent {
        let block = message["android"]?.object ?? message["androidV2"]?.object ?? JSONObject()
        var content = MessageContent()
        content.data = block["data"]?.object ?? message["data"]?.object ?? JSONObject()
        content.notification = message["notification"]?.object ?? JSONObject()
        let own = block["notification"]?.object ?? block["remoteNotification"]?.object?["notification"]?.object
        for member in own?.members ?? [] { content.notification[member.key] = member.value }
        for (field, name) in [("priority", "priority"), ("ttl", "ttl"), ("collapseKey", "collapse_key")] {
            if let value = block[field] { content.options[name] = value }
        }
        return content
    }

    /// The APNs headers and body. The alert is the message's own, overridden by `apns.payload`; the whole table of
    /// mapped fields is not part of this yet.
    static func apple(_ message: JSONObject, of delivery: Delivery) -> (headers: JSONObject, payload: JSONObject) {
        let apns = message["apns"]?.object ?? JSONObject()
        var headers = JSONObject()
        for member in apns["headers"]?.object?.members ?? [] { headers[member.key.lowercased()] = member.value }
        var payload = apns["payload"]?.object ?? JSONObject()
        var aps = payload["aps"]?.object ?? JSONObject()
        let shown = message["notification"]?.object
        if aps["alert"] == nil {
            let alert = AppleContent.alert(title: shown?["title"], body: shown?["body"])
            if !alert.isEmpty { aps["alert"] = .object(alert) }
        }
        if headers["apns-priority"] == nil { headers["apns-priority"] = .string(aps["alert"] == nil ? "5" : "10") }
        if headers["apns-expiration"] == nil {
            headers["apns-expiration"] = .string(String(delivery.timeMs / 1_000 + 30 * 86_400))
        }
        payload["aps"] = .object(aps)
        for member in message["data"]?.object?.members ?? [] where payload[member.key] == nil {
            payload[member.key] = member.value
        }
        if let image = apns["fcmOptions"]?.object?["image"] ?? shown?["image"] {
            payload["fcm_options"] = .object(["image": image])
        }
        AppleContent.addFCMKeys(to: &payload, of: delivery)
        return (headers, payload)
    }

    static func web(_ message: JSONObject, of delivery: Delivery) -> (headers: JSONObject, payload: JSONObject) {
        let block = message["webpush"]?.object ?? JSONObject()
        var shown = message["notification"]?.object ?? JSONObject()
        for member in block["notification"]?.object?.members ?? [] { shown[member.key] = member.value }
        var payload: JSONObject = [
            "from": .string(delivery.from ?? delivery.senderID), "fcmMessageId": .string(delivery.messageID),
        ]
        if !shown.isEmpty { payload["notification"] = .object(shown) }
        if let data = block["data"] ?? message["data"] { payload["data"] = data }
        if let link = block["fcmOptions"]?.object?["link"] { payload["fcmOptions"] = .object(["link": link]) }
        return (block["headers"]?.object ?? JSONObject(), payload)
    }
}

enum AppleContent {
    static func alert(title: JSONValue?, body: JSONValue?, subtitle: JSONValue? = nil) -> JSONObject {
        var alert = JSONObject()
        if let title { alert["title"] = title }
        if let subtitle { alert["subtitle"] = subtitle }
        if let body { alert["body"] = body }
        return alert
    }

    /// What FCM itself puts beside `aps`.
    static func addFCMKeys(to payload: inout JSONObject, of delivery: Delivery) {
        payload["gcm.message_id"] = .string(delivery.messageID)
        payload["google.c.sender.id"] = .string(delivery.senderID)
        payload["google.c.a.e"] = "1"
    }
}
