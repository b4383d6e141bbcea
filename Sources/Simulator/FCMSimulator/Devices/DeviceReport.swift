import FanfareJSON

/// The answer to `GET /devices?token=`.
extension Simulator {
    func deviceReport(_ query: String, now: Int64) throws(ControlError) -> JSONObject {
        guard let token = FormText.value("token", in: query), Recipients.isToken(token) else {
            throw ControlError("token: which device")
        }
        if let successor = devices.successor(of: token) {
            let works = now < successor.worksUntilMs
            return [
                "token": .string(token), "state": works ? "replaced" : "unregistered",
                "refreshed_to": .string(successor.token),
                "works_until_ms": works ? .integer(successor.worksUntilMs) : .null,
            ]
        }
        let (_, device) = devices.current(token, nowMs: now)
        var object = Self.describe(device, token: token, now: now)
        object["described"] = .bool(devices[token] != nil)
        object["topics"] = .strings(topics.subscriptions.topics(of: token).sorted())
        let used = devices.buckets.used(token, nowMs: now)
        object["buckets"] = .object([
            "minute": .integer(used.minute), "hour": .integer(used.hour),
            "collapsible_left": .integer(messages.throttle.left(token, nowMs: now)),
            "collapsible_next_ms": .integer(messages.throttle.slotMs(token, nowMs: now)),
        ])
        let queue = messages.queues[token] ?? DeviceQueue()
        object["stored"] = .array(queue.messages.map { Self.describe($0) })
        object["discarded"] = .integer(queue.discarded)
        object["missed"] = .integer(queue.missed)
        return object
    }

    private static func describe(_ device: Devices.Device, token: String, now: Int64) -> JSONObject {
        let isExpired = DevicePolicy.isExpired(device, nowMs: now)
        var object: JSONObject = [
            "token": .string(token), "platform": .string(device.platform.rawValue),
            "state": isExpired ? "unregistered" : .string(device.state.rawValue),
            "package": device.package.map { .string($0) } ?? .null,
            "senders": device.senders.map { .strings($0.sorted()) } ?? .null,
            "app_state": .string(device.appState.rawValue), "online": .bool(device.isOnline),
            "normal_delay_ms": .integer(device.normalDelayMs), "lowers_priority": .bool(device.isHighLowered),
        ]
        if case .offline(let sinceMs) = device.connection { object["offline_since_ms"] = .integer(sinceMs) }
        if let rate = device.rate { object["rate_per_minute"] = .integer(rate.limit) }
        if let channels = device.channels { object["channels"] = .strings(channels.map(\.text).sorted()) }
        if device.receipts == .string { object["receipts"] = "string" }
        if !device.formerTokens.isEmpty { object["former_tokens"] = .strings(device.formerTokens) }
        return object
    }

    private static func describe(_ message: StoredMessage) -> JSONValue {
        .object([
            "message_id": .string(message.accepted.messageID),
            "collapse_key": message.collapseKey.map { .string($0.text) } ?? .null,
            "priority": .string(message.accepted.priority.rawValue),
            "accepted_ms": .integer(message.accepted.acceptedMs),
            "expires_ms": .integer(message.expiresMs),
        ])
    }
}
