public import FanfareJSON

/// A push that an Apple app receives in `userInfo`, parsed. Values of another type than documented are left out.
public struct ReceivedNotification: Equatable, Sendable {
    /// The texts that the system shows; nil for a push with only a sound or a badge, and for a silent one.
    public var alert: Alert?
    public var sound: Sound?
    /// The number on the app's icon: nil keeps it, 0 removes it.
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
    /// The URL of a picture that a service extension may load. The sender sets it: check it before use.
    public var imageURL: String?
    /// Whether Analytics counts receipt and opening.
    public var isForAnalytics: Bool
    public var analyticsLabel: String?
    /// The sender's own keys, in their order: `data`, and the keys besides `aps` in `apns.payload`.
    public var customKeys: JSONObject

    /// Whether the push only wakes the app, without alert, sound and badge.
    public var isSilent: Bool {
        isContentAvailable && alert == nil && sound == nil && badge == nil
    }

    /// The text of one of the sender's own keys; nil if it is missing or not a text.
    public subscript(key: String) -> String? {
        customKeys[key]?.string
    }

    /// - Parameter userInfo: the dictionary of `UNNotificationContent` or of the app delegate, at most 32 levels deep.
    public init(userInfo: [AnyHashable: Any]) {
        self.init(UserInfo.object(userInfo, depth: UserInfo.maximumDepth))
    }

    /// - Parameter json: the body of the push, at most 64 KiB; APNs allows 4.
    public init(json: some Collection<UInt8>) throws(JSONError) {
        let limits = JSONLimits(maximumDepth: UserInfo.maximumDepth, maximumBytes: 64 * 1_024)
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

    /// Apple's own key and the keys that FCM adds.
    private static func isReserved(_ key: String) -> Bool {
        ["aps", "fcm_options", "from", "message_type"].contains(key) || key.hasPrefix("google.")
            || key.hasPrefix("gcm.")
    }
}
