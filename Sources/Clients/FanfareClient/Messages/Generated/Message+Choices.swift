// Made from the workers' table of fields. TypedMessageFileTests says how to make it again.

extension Message {
    /// How urgently FCM delivers a message to an Android device.
    public enum AndroidPriority: String, CaseIterable, Sendable {
        case normal = "NORMAL"
        case high = "HIGH"
    }

    /// How prominently an Android device shows a notification.
    public enum NotificationPriority: String, CaseIterable, Sendable {
        case unspecified = "PRIORITY_UNSPECIFIED"
        case min = "PRIORITY_MIN"
        case low = "PRIORITY_LOW"
        case `default` = "PRIORITY_DEFAULT"
        case high = "PRIORITY_HIGH"
        case max = "PRIORITY_MAX"
    }

    /// How much of a notification a locked Android device shows.
    public enum Visibility: String, CaseIterable, Sendable {
        case unspecified = "VISIBILITY_UNSPECIFIED"
        case `private` = "PRIVATE"
        case `public` = "PUBLIC"
        case secret = "SECRET"
    }

    /// When Google Play services may show a notification for the app.
    public enum Proxy: String, CaseIterable, Sendable {
        case unspecified = "PROXY_UNSPECIFIED"
        case allow = "ALLOW"
        case deny = "DENY"
        case ifPriorityLowered = "IF_PRIORITY_LOWERED"
    }
}
