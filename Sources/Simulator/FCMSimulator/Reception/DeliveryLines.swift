import FanfareJSON

/// Writes the answer to `GET /deliveries`: one line of JSON for each delivery.
struct DeliveryLines {
    /// A screen follows from at most so many deliveries of its token.
    static let maximumFolded = 2_000

    let store: DeliveryStore
    let devices: Devices

    /// - Returns: the newest deliveries of one token, or of all, oldest first; each with the screen after it.
    func text(token: String?, most: Int) -> [UInt8] {
        let listed = store.list(token: token).suffix(most)
        // A token's deliveries before the listed ones are applied to its screen first.
        var counts: [String: Int] = [:]
        for delivery in listed { counts[delivery.accepted.token, default: 0] += 1 }
        var screens: [String: Screen] = [:]
        var bytes: [UInt8] = []
        for delivery in listed {
            let token = delivery.accepted.token
            let app = devices[token] ?? Devices.Device()
            var screen = screens[token] ?? screen(of: token, app, beforeLast: counts[token] ?? 0)
            let reception = Reception(delivery, app: app)
            screen.apply(reception)
            screens[token] = screen
            bytes += JSONValue.object(Self.line(delivery, reception, screen)).jsonBytes + [UInt8(ascii: "\n")]
        }
        return bytes
    }

    /// The screen before the last `count` deliveries of the token.
    private func screen(of token: String, _ app: Devices.Device, beforeLast count: Int) -> Screen {
        var screen = Screen()
        for former in app.formerTokens {
            for delivery in store.list(token: former).suffix(Self.maximumFolded) {
                screen.apply(Reception(delivery, app: app))
            }
        }
        for delivery in store.list(token: token).suffix(max(Self.maximumFolded, count)).dropLast(count) {
            screen.apply(Reception(delivery, app: app))
        }
        return screen
    }

    private static func line(_ delivery: Delivery, _ reception: Reception, _ screen: Screen) -> JSONObject {
        var line: JSONObject = [
            "token": .string(delivery.accepted.token), "platform": .string(delivery.platform.rawValue),
            "time_ms": .integer(delivery.timeMs), "accepted_ms": .integer(delivery.accepted.acceptedMs),
            "message_id": .string(delivery.accepted.messageID), "app_state": .string(delivery.appState.rawValue),
        ]
        if let package = delivery.package { line["package"] = .string(package) }
        if case .deletedMessages = delivery.event { line["event"] = "deleted_messages" }
        line["headers"] = .object(reception.headers)
        line["payload"] = .object(reception.payload)
        if let token = reception.liveActivityToken { line["live_activity_token"] = .string(token) }
        line["callback"] = .array(reception.callbacks.map(\.json))
        line["screen"] = screen.json(delivery.platform)
        return line
    }
}
