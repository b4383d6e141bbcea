import FanfareJSON

/// What one message or event did on one device: the payload it brought, the callbacks, and what is shown.
struct Reception: Equatable, Sendable {
    /// The delivery options: APNs headers, headers of a web push, or the sender's options on Android.
    var headers = JSONObject()
    /// The APNs body, the extras of an Android intent, or the body of a web push.
    var payload = JSONObject()
    /// In the order in which they come.
    var callbacks: [Callback] = []
    /// What the system shows at arrival; nil if it shows nothing or leaves it to the app.
    var shown: ShownNotification?
    /// The new number on the app's icon; nil leaves the old one.
    var badge: Int64?
    /// The Live Activity that it is for; nil if it is for the app.
    var liveActivityToken: String?
}

/// A call to the app, or the system's own action if FCM's client library does not call the app.
struct Callback: Equatable, Sendable {
    enum Moment: String, Equatable, Sendable {
        case arrival
        /// When the user taps the notification, if ever.
        case tap
    }

    /// A part of the message that it carries.
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

/// What is known of the app on a device and changes its screen.
struct AppTraits: Equatable, Sendable {
    /// The Android channels it created; nil if they were not described, and then every channel exists.
    var channels: Set<String>?
    /// Its earlier tokens, oldest first. Their deliveries are on the same screen.
    var formerTokens: [String] = []

    /// Stands for the app's own default channel or icon.
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
