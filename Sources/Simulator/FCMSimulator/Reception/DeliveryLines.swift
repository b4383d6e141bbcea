import FanfareJSON

/// Writes the answer to `GET /deliveries`: one line of JSON for each delivery.
struct DeliveryLines {
    /// A screen follows from at most so many deliveries of its token.
    static let mostFolded = 2_000

    private let store: DeliveryStore
    private let app: (String) -> AppTraits

    /// - Parameter app: the app behind a token.
    init(_ store: DeliveryStore, app: @escaping (String) -> AppTraits) {
        self.store = store
        self.app = app
    }

    /// - Returns: the newest deliveries of one token, or of all, oldest first; each with the screen after it.
    func text(token: String?, most: Int) -> [UInt8] {
        let listed = store.list(token: token).suffix(most)
        var screens: [String: Stepper] = [:]
        // A token's deliveries before the listed ones are applied to its screen first.
        var counts: [String: Int] = [:]
        for delivery in listed { counts[delivery.token, default: 0] += 1 }
        var bytes: [UInt8] = []
        for delivery in listed {
            var stepper = screens[delivery.token] ?? before(delivery.token, listed: counts[delivery.token] ?? 0)
            bytes += stepper.line(of: delivery)
            screens[delivery.token] = stepper
        }
        return bytes
    }

    /// The screen before the last `count` deliveries of the token.
    private func before(_ token: String, listed count: Int) -> Stepper {
        var stepper = Stepper(app: app(token))
        for former in stepper.app.formerTokens {
            for delivery in store.list(token: former).suffix(Self.mostFolded) { stepper.pass(delivery) }
        }
        for delivery in store.list(token: token).suffix(max(Self.mostFolded, count)).dropLast(count) {
            stepper.pass(delivery)
        }
        return stepper
    }

    /// Applies one token's deliveries in their order.
    private struct Stepper {
        let app: AppTraits
        private var screen = Screen()

        init(app: AppTraits) {
            self.app = app
        }

        mutating func pass(_ delivery: Delivery) {
            screen.apply(Reception(delivery, app: app))
        }

        mutating func line(of delivery: Delivery) -> [UInt8] {
            let reception = Reception(delivery, app: app)
            screen.apply(reception)
            var line = delivery.head
            line["headers"] = .object(reception.headers)
            line["payload"] = .object(reception.payload)
            if let token = reception.liveActivityToken { line["live_activity_token"] = .string(token) }
            line["callback"] = .array(reception.callbacks.map(\.json))
            line["screen"] = screen.json(delivery.platform)
            return JSONValue.object(line).jsonBytes + [UInt8(ascii: "\n")]
        }
    }
}

extension Delivery {
    fileprivate var head: JSONObject {
        var object: JSONObject = [
            "token": .string(token), "platform": .string(platform.rawValue), "time_ms": .number(JSONNumber(timeMs)),
            "accepted_ms": .number(JSONNumber(acceptedMs)), "message_id": .string(messageID),
            "app_state": .string(appState.rawValue),
        ]
        if let package { object["package"] = .string(package) }
        if case .deletedMessages = event { object["event"] = "deleted_messages" }
        return object
    }
}
