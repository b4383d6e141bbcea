import FanfareJSON
internal import FanfareModel

/// Makes the APNs headers and body of a message.
enum AppleReception {
    /// The expiration that FCM sets if the sender set none.
    static let defaultExpirationSeconds: Int64 = 30 * 86_400
    /// APNs refuses a longer collapse id.
    static let maximumCollapseBytes = 64

    static func receive(v1 message: JSONObject, _ delivery: Delivery) -> Reception {
        let apns = message["apns"]?.object ?? JSONObject()
        let common = message["notification"]?.object
        var result = Reception()
        for member in apns["headers"]?.object?.members ?? [] { result.headers[member.key.lowercased()] = member.value }
        var payload = apns["payload"]?.object ?? JSONObject()
        var aps = payload["aps"]?.object ?? JSONObject()
        // The payload's own alert replaces the whole common one.
        if aps["alert"] == nil {
            var alert = JSONObject()
            for name in ["title", "body"] { if let text = common?[name] { alert[name] = text } }
            if !alert.isEmpty { aps["alert"] = .object(alert) }
        }
        payload["aps"] = .object(aps)
        // A root key of the payload wins over a data key; the documents leave it open.
        for member in message["data"]?.object?.members ?? [] where payload[member.key] == nil {
            payload[member.key] = member.value
        }
        if let image = apns["fcmOptions"]?.object?["image"] ?? common?["image"] {
            var options = payload["fcm_options"]?.object ?? JSONObject()
            options["image"] = image
            payload["fcm_options"] = .object(options)
        }
        let label = apns["fcmOptions"]?.object?["analyticsLabel"] ?? message["fcmOptions"]?.object?["analyticsLabel"]
        if let label { payload["google.c.a.m_l"] = label }
        result.payload = payload
        result.liveActivityToken = apns["liveActivityToken"]?.nonEmptyString
        fill(
            &result,
            priority: "10",
            expiration: delivery.accepted.acceptedMs / 1_000 + defaultExpirationSeconds,
            of: delivery
        )
        return result
    }

    static func receive(legacy message: LegacyMessage, _ delivery: Delivery) -> Reception {
        let shown = message.notification
        var result = Reception()
        var aps = JSONObject()
        let alert = alert(shown)
        if !alert.isEmpty { aps["alert"] = .object(alert) }
        if let sound = shown["sound"] { aps["sound"] = sound }
        if let badge = badge(shown["badge"]) { aps["badge"] = .integer(badge) }
        if let category = shown["click_action"] { aps["category"] = category }
        if message.isContentAvailable { aps["content-available"] = 1 }
        if message.isMutable { aps["mutable-content"] = 1 }
        result.payload["aps"] = .object(aps)
        for member in message.data.members where member.key != "aps" { result.payload[member.key] = member.value }
        if let image = shown["image"] { result.payload["fcm_options"] = .object(["image": image]) }
        if let key = message.collapseKey, key.utf8.count <= maximumCollapseBytes {
            result.headers["apns-collapse-id"] = .string(key)
        }
        let lifetime = message.lifetimeSeconds
        fill(
            &result,
            priority: message.isHigh ? "10" : "5",
            expiration: lifetime == 0 ? 0 : delivery.accepted.acceptedMs / 1_000 + lifetime,
            of: delivery
        )
        return result
    }

    private static func alert(_ shown: JSONObject) -> JSONObject {
        var alert = JSONObject()
        for (name, key) in [
            ("title", "title"), ("subtitle", "subtitle"), ("body", "body"), ("title_loc_key", "title-loc-key"),
            ("body_loc_key", "loc-key"),
        ] {
            if let text = shown[name] { alert[key] = text }
        }
        for (name, key) in [("title_loc_args", "title-loc-args"), ("body_loc_args", "loc-args")] {
            if let arguments = LegacyMessage.arguments(shown[name]) { alert[key] = arguments }
        }
        return alert
    }

    /// A legacy message may have the badge as a string.
    private static func badge(_ value: JSONValue?) -> Int64? {
        let number = value?.number?.wholeInt64 ?? value?.string.flatMap { Int64($0) }
        return number.flatMap { $0 >= 0 ? $0 : nil }
    }

    // MARK: What FCM adds

    /// Adds FCM's own headers and keys.
    ///
    /// - Parameter priority: of a message that is seen or heard. Any other has 5, because APNs accepts nothing else.
    private static func fill(_ result: inout Reception, priority: String, expiration: Int64, of delivery: Delivery) {
        var aps = result.payload["aps"]?.object ?? JSONObject()
        let isNoticed = ["alert", "badge", "sound"].contains { aps[$0] != nil }
        let isForActivity = result.liveActivityToken != nil
        if !isNoticed, !isForActivity, aps["content-available"] == nil { aps["content-available"] = 1 }
        result.payload["aps"] = .object(aps)
        let kind = isForActivity ? "liveactivity" : isNoticed ? "alert" : "background"
        var defaults: JSONObject = [
            "apns-priority": .string(isNoticed || isForActivity ? priority : "5"),
            "apns-expiration": .string(String(expiration)), "apns-push-type": .string(kind),
        ]
        if let bundle = delivery.package {
            defaults["apns-topic"] = .string(isForActivity ? bundle + ".push-type.liveactivity" : bundle)
        }
        for member in defaults.members where result.headers[member.key] == nil {
            result.headers[member.key] = member.value
        }
        result.payload["gcm.message_id"] = .string(delivery.accepted.messageID)
        result.payload["google.c.sender.id"] = .string(delivery.accepted.senderID)
        result.payload["google.c.fid"] = .string(InstallationID.of(delivery.accepted.token))
        result.payload["google.c.a.e"] = "1"
        AppleScreen.complete(&result, state: delivery.appState)
    }
}

/// The Firebase installation behind a token.
enum InstallationID {
    private static let length = 22
    private static let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    /// A modern token starts with the id. For any other token an id is derived, always the same.
    static func of(_ token: String) -> String {
        let head = token.utf8.prefix { $0 != UInt8(ascii: ":") }
        if isOne(head) { return String(decoding: head, as: UTF8.self) }
        var random = SplitMix64(seed: TokenHash.of(token))
        var id = [Array("cdef".utf8)[Int(random.next() % 4)]]
        while id.count < length { id.append(letters[Int(random.next() % 64)]) }
        return String(decoding: id, as: UTF8.self)
    }

    private static func isOne(_ text: some Collection<UInt8>) -> Bool {
        guard text.count == length, let first = text.first, "cdef".utf8.contains(first) else { return false }
        return text.allSatisfy { letters.contains($0) }
    }
}
