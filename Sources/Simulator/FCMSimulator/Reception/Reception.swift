import FanfareJSON

/// What one message or event came to on one device: what was handed over, whom it called, and what it put on the
/// screen.
struct Reception: Equatable, Sendable {
    /// The options of delivery: APNs headers, headers of a web push, or what the sender asked for on Android.
    var headers = JSONObject()
    /// As the device's own interface gives it: the APNs body, the extras of an Android intent, the body of a push.
    var payload = JSONObject()
    /// In the order in which they come.
    var callbacks: [Callback] = []
    /// What the system itself shows at arrival; nil where it shows nothing or leaves it to the app.
    var shown: ShownNotification?
    /// The new number on the app's icon; nil leaves the old one.
    var badge: Int64?
    /// The Live Activity it is for, rather than the app.
    var liveActivityToken: String?
}

/// A call that the app gets, or the system's own doing where FCM's client library leaves the app out.
struct Callback: Equatable, Sendable {
    enum Moment: String, Equatable, Sendable {
        case arrival
        /// When the user touches the notification; never, if nobody does.
        case tap
    }

    /// What of the message it brings.
    enum Part: String, Equatable, Sendable { case notification, data }

    var name: String
    var moment: Moment
    var carries: [Part]
    /// The Android activity or the web page that a tap opens.
    var opens: String?

    init(_ name: String, at moment: Moment, carries: [Part], opens: String? = nil) {
        self.name = name
        self.moment = moment
        self.carries = carries
        self.opens = opens
    }

    var json: JSONValue {
        var object: JSONObject = [
            "name": .string(name), "when": .string(moment.rawValue),
            "carries": .array(carries.map { .string($0.rawValue) }),
        ]
        if let opens { object["opens"] = .string(opens) }
        return .object(object)
    }
}

/// What is known of the app on a device, as far as its screen depends on it.
struct AppTraits: Equatable, Sendable {
    /// The Android channels it created; nil where nobody said, and then every channel exists.
    var channels: Set<String>?
    /// Tokens that it had before, oldest first: its screen is still the same.
    var formerTokens: [String] = []

    /// Stands for whatever the app itself says: its default channel, its default icon.
    static let ownDefault = "default"
}

extension Reception {
    init(_ delivery: Delivery, app: AppTraits) {
        if case .deletedMessages(let count) = delivery.event {
            self = AndroidReception.deletedMessages(count, of: delivery)
            return
        }
        switch delivery.source {
        case .v1(let body): self.init(v1: V1Request.message(in: body) ?? JSONObject(), of: delivery, app: app)
        case .legacy(let body): self.init(legacy: LegacyMessage(json: body), of: delivery, app: app)
        case .plainText(let body): self.init(legacy: LegacyMessage(plainText: body), of: delivery, app: app)
        case .none: self.init()
        }
    }

    private init(v1 message: JSONObject, of delivery: Delivery, app: AppTraits) {
        switch delivery.platform {
        case .android: self = AndroidReception.receive(AndroidContent(v1: message), delivery, app: app)
        case .apple: self = AppleReception.receive(v1: message, delivery)
        case .web: self = WebReception.receive(WebContent(v1: message), delivery)
        }
    }

    private init(legacy message: LegacyMessage, of delivery: Delivery, app: AppTraits) {
        switch delivery.platform {
        case .android: self = AndroidReception.receive(AndroidContent(legacy: message), delivery, app: app)
        case .apple: self = AppleReception.receive(legacy: message, delivery)
        case .web: self = WebReception.receive(WebContent(legacy: message), delivery)
        }
    }
}

extension Devices.Device {
    var app: AppTraits { AppTraits(channels: channels, formerTokens: formerTokens) }
}
