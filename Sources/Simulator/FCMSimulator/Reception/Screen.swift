import FanfareJSON

/// One notification as the user sees it.
struct ShownNotification: Equatable, Sendable {
    /// A newer notification with the same key replaces it; nil for one that nothing replaces.
    var key: ExactText?
    var tag: String?
    var title: String?
    var subtitle: String?
    var body: String?
    var channel: String?
    var icon: String?
    var image: String?
    /// Android: how much it adds to the number on the icon.
    var count: Int64 = 1

    fileprivate var json: JSONValue {
        func text(_ value: String?) -> JSONValue { value.map { .string($0) } ?? .null }
        var object: JSONObject = ["tag": text(tag), "title": text(title), "body": text(body)]
        for (name, value) in [("subtitle", subtitle), ("channel", channel), ("icon", icon), ("image", image)] {
            if let value { object[name] = .string(value) }
        }
        return .object(object)
    }
}

/// The notifications of one app on one device. They follow from the deliveries in their order and are never stored.
struct Screen: Equatable, Sendable {
    /// Android's limit for one app. Beyond it the oldest goes.
    static let most = 50

    private(set) var notifications: [ShownNotification] = []
    private var iconNumber: Int64 = 0

    mutating func apply(_ reception: Reception) {
        if let badge = reception.badge { iconNumber = badge }
        guard let shown = reception.shown else { return }
        if let key = shown.key { notifications.removeAll { $0.key == key } }
        notifications.append(shown)
        if notifications.count > Self.most { notifications.removeFirst() }
    }

    /// The number on the icon: the last one given on Apple, the sum of the notifications on Android, nil on the web.
    func badge(_ platform: Platform) -> Int64? {
        switch platform {
        case .apple: return iconNumber
        case .android: return notifications.reduce(0) { $0 &+ $1.count }
        case .web: return nil
        }
    }

    /// Oldest notification first.
    func json(_ platform: Platform) -> JSONValue {
        var object: JSONObject = ["notifications": .array(notifications.map(\.json))]
        if let badge = badge(platform) { object["badge"] = .integer(badge) }
        return .object(object)
    }
}
