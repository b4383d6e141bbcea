public import FanfareJSON

/// A push as an Apple app gets it in `userInfo`, taken apart.
///
/// Any input at all may be given: what has another type than Apple's or FCM's documentation says is left out, and
/// nothing is ever trusted to be there.
public struct ReceivedNotification: Equatable, Sendable {
    /// What the system shows; nil for a silent push, and for one that only counts or sounds.
    public var alert: Alert?
    public var sound: Sound?
    /// The number for the app's icon: nil leaves it as it is, 0 removes it.
    public var badge: Int?
    /// The registered category whose actions the notification offers. A legacy message calls it `click_action`.
    public var category: String?
    /// Notifications of one thread are grouped.
    public var threadID: String?
    /// The push wakes the app in the background.
    public var isContentAvailable: Bool
    /// A notification service extension may change the notification before it is shown.
    public var isMutable: Bool
    /// FCM's id of the message; nil when something else sent the push.
    public var messageID: String?
    /// The number of the project that sent it.
    public var senderID: String?
    /// The Firebase installation it was sent to.
    public var installationID: String?
    /// Of the picture that a service extension is to load. It is the sender's text: check it before use.
    public var imageURL: String?
    /// Receipt and opening are to be counted by Analytics.
    public var isForAnalytics: Bool
    public var analyticsLabel: String?
    /// The sender's own keys, in their order: `data`, whose values are texts, and what stood beside `aps` in
    /// `apns.payload`.
    public var customKeys: JSONObject

    /// Nobody sees, hears or counts it: it only wakes the app.
    public var isSilent: Bool {
        isContentAvailable && alert == nil && sound == nil && badge == nil
    }

    /// The text under one of the sender's own keys; nil when it is not there or not a text.
    public subscript(key: String) -> String? {
        customKeys[key]?.string
    }

    /// - Parameter userInfo: of `UNNotificationContent`, or as the app delegate is given it. Values that JSON does not
    ///   know are left out, and so is what lies deeper than 32 levels.
    public init(userInfo: [AnyHashable: Any]) {
        self.init(UserInfo.object(userInfo, depth: UserInfo.mostDepth))
    }

    /// - Parameter json: the body of the push, at most 64 KiB; APNs carries 4.
    public init(json: some Collection<UInt8>) throws(JSONError) {
        let limits = JSONLimits(maxDepth: UserInfo.mostDepth, maxBytes: 64 * 1_024)
        let value = try JSONParser.parse(json, limits: limits)
        guard let object = value.object else { throw JSONError(reason: "an object is expected", offset: 0) }
        self.init(object)
    }

    public init(_ payload: JSONObject) {
        let aps = payload["aps"]?.object ?? JSONObject()
        alert = aps["alert"].flatMap { Alert($0) }
        sound = aps["sound"].flatMap { Sound($0) }
        badge = aps["badge"]?.number?.wholeInt64.flatMap { Int(exactly: $0) }
        category = aps["category"]?.string
        threadID = aps["thread-id"]?.string
        isContentAvailable = Self.isOn(aps["content-available"])
        isMutable = Self.isOn(aps["mutable-content"])
        messageID = payload["gcm.message_id"]?.string
        senderID = payload["google.c.sender.id"]?.string
        installationID = payload["google.c.fid"]?.string
        imageURL = payload["fcm_options"]?.object?["image"]?.string
        isForAnalytics = Self.isOn(payload["google.c.a.e"])
        analyticsLabel = payload["google.c.a.m_l"]?.string
        customKeys = JSONObject(payload.members.filter { !Self.isReserved($0.key) })
    }

    /// APNs says 1; a bridged dictionary may say true, and FCM's own flags are texts.
    private static func isOn(_ value: JSONValue?) -> Bool {
        switch value {
        case .number(let number): return number.wholeInt64 == 1
        case .bool(let flag): return flag
        case .string(let text): return text == "1"
        default: return false
        }
    }

    /// Apple's own key and those that FCM adds.
    private static func isReserved(_ key: String) -> Bool {
        ["aps", "fcm_options", "from", "message_type"].contains(key) || key.hasPrefix("google.")
            || key.hasPrefix("gcm.")
    }
}
