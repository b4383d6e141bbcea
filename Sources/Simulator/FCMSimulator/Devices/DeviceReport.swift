import FanfareJSON

/// The answer to `GET /devices?token=`.
extension Simulator {
    func showDevice(_ query: String, now: Int64) -> SimulatorReply {
        guard let token = FormText.value("token", in: query), Recipients.isToken(token) else {
            return Self.bad("token: which device")
        }
        if let successor = devices.successor(of: token) {
            let works = now < successor.worksUntilMs
            return SimulatorReply(
                status: 200,
                json: JSONValue.object([
                    "token": .string(token), "state": works ? "replaced" : "unregistered",
                    "refreshed_to": .string(successor.token),
                    "works_until_ms": works ? Self.time(successor.worksUntilMs) : .null,
                ]).jsonBytes
            )
        }
        let (_, device) = devices.current(token, nowMs: now)
        var object = Self.describe(device, token: token, now: now)
        object["described"] = .bool(devices[token] != nil)
        object["topics"] = Self.list(topics.subscriptions.topics(of: token))
        object["buckets"] = .object(bucketReport(token, now: now))
        let queue = messages.queue(of: token) ?? DeviceQueue()
        object["stored"] = .array(queue.messages.map { Self.describe($0) })
        object["discarded"] = Self.count(queue.discarded)
        object["missed"] = Self.count(queue.missed)
        return SimulatorReply(status: 200, json: JSONValue.object(object).jsonBytes)
    }

    private static func describe(_ device: Devices.Device, token: String, now: Int64) -> JSONObject {
        let isExpired = DevicePolicy.isExpired(device, nowMs: now)
        var object: JSONObject = [
            "token": .string(token), "platform": .string(device.platform.rawValue),
            "state": isExpired ? "unregistered" : .string(device.state.rawValue),
            "package": device.package.map { .string($0) } ?? .null, "senders": device.senders.map(list) ?? .null,
            "app_state": .string(device.appState.rawValue), "online": .bool(device.isOnline),
            "normal_delay_ms": time(device.normalDelayMs), "lowers_priority": .bool(device.isHighLowered),
        ]
        if case .offline(let sinceMs) = device.connection { object["offline_since_ms"] = time(sinceMs) }
        if let rate = device.rate { object["rate_per_minute"] = count(rate.limit) }
        if let channels = device.channels { object["channels"] = list(channels) }
        if device.receipts == .string { object["receipts"] = "string" }
        if !device.formerTokens.isEmpty { object["former_tokens"] = .array(device.formerTokens.map { .string($0) }) }
        return object
    }

    private static func describe(_ message: StoredMessage) -> JSONValue {
        .object([
            "message_id": .string(message.accepted.messageID),
            "collapse_key": message.collapseKey.map { .string($0) } ?? .null,
            "priority": .string(message.accepted.priority.rawValue), "accepted_ms": time(message.accepted.acceptedMs),
            "expires_ms": time(message.expiresMs),
        ])
    }

    /// The messages counted in the device's open windows, and what is left of its burst.
    private func bucketReport(_ token: String, now: Int64) -> JSONObject {
        let used = devices.used(token, nowMs: now)
        return [
            "minute": Self.count(used.minute), "hour": Self.count(used.hour),
            "collapsible_left": Self.count(messages.collapsibleLeft(token, nowMs: now)),
            "collapsible_next_ms": Self.time(messages.collapsibleSlotMs(token, nowMs: now)),
        ]
    }

    private static func time(_ value: Int64) -> JSONValue { .number(JSONNumber(value)) }
    private static func count(_ value: Int) -> JSONValue { .number(JSONNumber(Int64(value))) }
    private static func list(_ names: Set<String>) -> JSONValue { .array(names.sorted().map { .string($0) }) }
}
