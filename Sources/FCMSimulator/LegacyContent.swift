import FanfareJSON

/// Legacy messages as devices see them.
enum LegacyContent {
    static func common(_ root: JSONObject) -> MessageContent {
        var content = MessageContent()
        content.data = strings(root["data"]?.object ?? JSONObject())
        content.notification = root["notification"]?.object ?? JSONObject()
        content.options["priority"] = root["priority"] ?? (content.notification.isEmpty ? "normal" : "high")
        for name in ["time_to_live", "collapse_key"] { if let value = root[name] { content.options[name] = value } }
        return content
    }

    static func plainText(_ body: [UInt8]) -> MessageContent {
        var content = MessageContent()
        for (name, value) in FormText.pairs(body) ?? [] {
            if name.hasPrefix("data.") {
                content.data[String(name.dropFirst("data.".count))] = .string(value)
            } else if name == "collapse_key" || name == "time_to_live" {
                content.options[name] = .string(value)
            }
        }
        return content
    }

    static func apple(_ root: JSONObject, of delivery: Delivery) -> (headers: JSONObject, payload: JSONObject) {
        let content = common(root)
        let shown = content.notification
        var aps = JSONObject()
        let alert = AppleContent.alert(title: shown["title"], body: shown["body"], subtitle: shown["subtitle"])
        if !alert.isEmpty { aps["alert"] = .object(alert) }
        if let sound = shown["sound"] { aps["sound"] = sound }
        if let badge = shown["badge"]?.string.flatMap({ Int64($0) }) { aps["badge"] = .number(JSONNumber(badge)) }
        if let category = shown["click_action"] { aps["category"] = category }
        if root["content_available"] == .bool(true) { aps["content-available"] = 1 }
        if root["mutable_content"] == .bool(true) { aps["mutable-content"] = 1 }
        var payload: JSONObject = ["aps": .object(aps)]
        for member in content.data.members where payload[member.key] == nil { payload[member.key] = member.value }
        AppleContent.addFCMKeys(to: &payload, of: delivery)
        var headers: JSONObject = ["apns-priority": content.options["priority"] == "high" ? "10" : "5"]
        if let lifetime = root["time_to_live"]?.number?.int64 {
            headers["apns-expiration"] = .string(String(lifetime == 0 ? 0 : delivery.timeMs / 1_000 + lifetime))
        }
        if let key = root["collapse_key"] { headers["apns-collapse-id"] = key }
        return (headers, payload)
    }

    /// Values reach devices as text.
    private static func strings(_ data: JSONObject) -> JSONObject {
        JSONObject(
            data.members.map { member in
                let text = member.value.string ?? member.value.jsonText
                return JSONObject.Member(key: member.key, value: .string(text))
            }
        )
    }
}
