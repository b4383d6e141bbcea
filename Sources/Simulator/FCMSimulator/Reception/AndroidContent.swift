import FanfareJSON

/// A message as Android gets it: the common fields with Android's block merged over them.
struct AndroidContent {
    var data = JSONObject()
    /// Under the field names of v1, for legacy messages too; empty for a data message.
    var notification = JSONObject()
    /// Priority, lifetime and collapse key as the sender wrote them.
    var options = JSONObject()
    var lifetimeSeconds = LegacyMessage.defaultLifetimeSeconds
    var collapseKey: String?
    var analyticsLabel: JSONValue?

    init(v1 message: JSONObject) {
        let v2 = message["androidV2"]?.object
        let block = message["android"]?.object ?? v2 ?? JSONObject()
        data = block["data"]?.object ?? message["data"]?.object ?? JSONObject()
        // A background sync shows nothing on Android.
        if v2?["backgroundSync"] == nil {
            notification = message["notification"]?.object ?? JSONObject()
            let own = block["notification"]?.object ?? v2?["remoteNotification"]?.object?["notification"]?.object
            notification.merge(own)
        }
        for (field, name) in [("priority", "priority"), ("ttl", "ttl"), ("collapseKey", "collapse_key")] {
            if let value = block[field] { options[name] = value }
        }
        if let nanoseconds = block["ttl"]?.string.flatMap(DurationText.nanoseconds) {
            lifetimeSeconds = nanoseconds / 1_000_000_000
        }
        collapseKey = block["collapseKey"]?.nonEmptyString
        analyticsLabel =
            block["fcmOptions"]?.object?["analyticsLabel"] ?? message["fcmOptions"]?.object?["analyticsLabel"]
    }

    init(legacy message: LegacyMessage) {
        data = message.data
        for (name, field) in Self.names {
            if let value = message.notification[name] { notification[field] = value }
        }
        for name in ["body", "title"] {
            if let arguments = LegacyMessage.arguments(message.notification[name + "_loc_args"]) {
                notification[name + "LocArgs"] = arguments
            }
        }
        options = message.options
        lifetimeSeconds = message.lifetimeSeconds
        collapseKey = message.collapseKey
    }

    /// The legacy keys that Android knows; `subtitle` and `badge` are Apple's.
    private static let names = [
        ("title", "title"), ("body", "body"), ("icon", "icon"), ("sound", "sound"), ("tag", "tag"), ("color", "color"),
        ("click_action", "clickAction"), ("android_channel_id", "channelId"), ("body_loc_key", "bodyLocKey"),
        ("title_loc_key", "titleLocKey"), ("image", "image"),
    ]
}
