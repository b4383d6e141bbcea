// Made from the workers' table of fields. TypedMessageFileTests says how to make it again.
public import FanfareJSON

/// The HTTP v1 `Message` of FCM without its target, which is a field of the job. At least one of `notification`,
/// `data` and the parts of a platform makes a message that does something. Keys and values of data and notification
/// may have 4,096 bytes together, and 2,048 for a topic or a condition.
public struct Message: Equatable, Sendable {
    /// What every platform shows to the user.
    public var notification: Message.Notification?
    /// Values for the app. The keys `from` and `message_type`, and keys that begin with `google` or `gcm`, are
    /// reserved.
    public var data: [String: String]?
    /// Options for Android.
    public var android: Message.AndroidConfig?
    /// Options for Android in FCM's second form. Not together with `android`.
    public var androidV2: Message.AndroidConfigV2?
    /// Options for browsers.
    public var webpush: Message.WebpushConfig?
    /// Options for Apple devices.
    public var apns: Message.ApnsConfig?
    /// Options for every platform.
    public var fcmOptions: Message.FcmOptions?
    /// Members that this version of the library does not know, written as they are. Workers reject names that they
    /// do not know.
    public var additional: JSONObject

    /// A field that is left out stays absent.
    public init(
        notification: Message.Notification? = nil,
        data: [String: String]? = nil,
        android: Message.AndroidConfig? = nil,
        androidV2: Message.AndroidConfigV2? = nil,
        webpush: Message.WebpushConfig? = nil,
        apns: Message.ApnsConfig? = nil,
        fcmOptions: Message.FcmOptions? = nil,
        additional: JSONObject = [:]
    ) {
        self.notification = notification
        self.data = data
        self.android = android
        self.androidV2 = androidV2
        self.webpush = webpush
        self.apns = apns
        self.fcmOptions = fcmOptions
        self.additional = additional
    }
}

extension Message: MessagePart {
    var json: JSONObject {
        var members = MemberWriter()
        members.add("notification", notification)
        members.add("data", data)
        members.add("android", android)
        members.add("androidV2", androidV2)
        members.add("webpush", webpush)
        members.add("apns", apns)
        members.add("fcmOptions", fcmOptions)
        members.add(additional: additional)
        return members.object
    }
}
