import FanfareJSON

/// The effect of one message or event on one device: payload, callbacks and the shown notification.
struct Reception: Equatable, Sendable {
    /// The delivery options: APNs headers, headers of a web push, or the sender's options on Android.
    var headers = JSONObject()
    /// The APNs body, the extras of an Android intent, or the body of a web push.
    var payload = JSONObject()
    /// In the order in which they come.
    var callbacks: [Callback] = []
    /// Shown by the system at arrival; nil if it shows nothing or leaves it to the app.
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
    var when: Moment
    var carries: [Part]
    /// The Android activity or the web page that a tap opens.
    var opens: String?

    var json: JSONValue {
        var object: JSONObject = [
            "name": .string(name), "when": .string(when.rawValue),
            "carries": .strings(carries.map(\.rawValue)),
        ]
        if let opens { object["opens"] = .string(opens) }
        return .object(object)
    }
}

extension Reception {
    init(_ delivery: Delivery, app: Devices.Device) {
        if case .deletedMessages(let count) = delivery.event {
            self = AndroidReception.deletedMessages(count, of: delivery)
            return
        }
        switch delivery.accepted.source {
        case .v1(let body): self.init(v1: V1Request.message(in: body) ?? JSONObject(), of: delivery, app: app)
        case .legacy(let body): self.init(legacy: LegacyMessage(json: body), of: delivery, app: app)
        case .plainText(let body): self.init(legacy: LegacyMessage(plainText: body), of: delivery, app: app)
        case .none: self.init()
        }
    }

    private init(v1 message: JSONObject, of delivery: Delivery, app: Devices.Device) {
        switch delivery.platform {
        case .android: self = AndroidReception.receive(AndroidContent(v1: message), delivery, app: app)
        case .apple: self = AppleReception.receive(v1: message, delivery)
        case .web: self = WebReception.receive(WebContent(v1: message), delivery)
        }
    }

    private init(legacy message: LegacyMessage, of delivery: Delivery, app: Devices.Device) {
        switch delivery.platform {
        case .android: self = AndroidReception.receive(AndroidContent(legacy: message), delivery, app: app)
        case .apple: self = AppleReception.receive(legacy: message, delivery)
        case .web: self = WebReception.receive(WebContent(legacy: message), delivery)
        }
    }
}
