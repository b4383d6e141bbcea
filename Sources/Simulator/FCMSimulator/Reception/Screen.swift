import FanfareJSON

/// One notification as its user sees it.
struct ShownNotification: Equatable, Sendable {
    /// Another with the same key takes its place; nil is like no other.
    var key: String?
    var tag: String?
    var title: String?
    var subtitle: String?
    var body: String?
    var channel: String?
    var icon: String?
    var image: String?
    /// How many items it stands for, on Android's icon badge.
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

/// What one device shows of one app: each delivery in turn changes it, and it is never stored.
struct Screen: Equatable, Sendable {
    /// An app may not show more on Android; the oldest go first here.
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

    /// The number on the icon. Apple shows what it was last told, Android what its notifications stand for, and a web
    /// page has no icon.
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
        if let badge = badge(platform) { object["badge"] = .number(JSONNumber(badge)) }
        return .object(object)
    }
}
