/// The Swift name and the meaning of each part of a message, and the meaning of each field in the order of its page.
/// Types and limits come from the workers' table.
struct PartDescription {
    /// Where the part stands in a message. Parts with the same name have the same fields.
    var paths: [String]
    /// Within `Message`; empty for `Message` itself.
    var name: String
    var summary: String
    var fields: [(name: String, meaning: String)]

    static let all: [PartDescription] = [
        message, notification, options, androidConfig, androidNotification, lightSettings, color, androidConfigV2,
        backgroundSync, remoteNotification, androidNotificationV2, webpushConfig, webpushOptions, apnsConfig,
        apnsOptions,
    ]

    static let message = PartDescription(
        paths: [""],
        name: "",
        summary: "The HTTP v1 `Message` of FCM without its target, which is a field of the job. At least one of "
            + "`notification`, `data` and the parts of a platform makes a message that does something. Keys and values "
            + "of data and notification may have 4,096 bytes together, and 2,048 for a topic or a condition.",
        fields: [
            ("notification", "What every platform shows to the user."),
            (
                "data",
                "Values for the app. The keys `from` and `message_type`, and keys that begin with `google` or `gcm`, "
                    + "are reserved."
            ),
            ("android", "Options for Android."),
            ("androidV2", "Options for Android in FCM's second form. Not together with `android`."),
            ("webpush", "Options for browsers."),
            ("apns", "Options for Apple devices."),
            ("fcmOptions", "Options for every platform."),
        ]
    )

    static let notification = PartDescription(
        paths: ["notification"],
        name: "Notification",
        summary: "A notification that every platform shows. A field of a platform's own notification replaces the "
            + "field of the same name.",
        fields: [
            ("title", "The title."), ("body", "The text."),
            ("image", "An image that the device downloads and shows."),
        ]
    )

    static let options = PartDescription(
        paths: ["fcmOptions", "android.fcmOptions", "androidV2.fcmOptions"],
        name: "FcmOptions",
        summary: "Options of the FCM SDKs.",
        fields: [("analyticsLabel", "A label by which Firebase's reports count the message.")]
    )

    private static let commonAndroid = [
        (
            "collapseKey",
            "Names a group of messages of which a device that was offline gets only the last. FCM keeps up to four "
                + "keys for a device."
        ),
        (
            "ttl",
            "How long FCM keeps the message for a device that is offline; zero means deliver now or never. FCM's "
                + "default is four weeks."
        ),
        ("restrictedPackageName", "The package name that an app must have to get the message."),
        ("data", "Values for the app; they replace ``Message/data``."),
        ("fcmOptions", "Options of the FCM SDK for Android."),
        ("directBootOk", "Whether the app may get the message before the user has unlocked the device once."),
        (
            "bandwidthConstrainedOk",
            "Whether the app may get the message over a network of low bandwidth. Only for apps that can handle it."
        ),
        ("restrictedSatelliteOk", "Whether the app may get the message over a restricted satellite network."),
    ]

    static let androidConfig = PartDescription(
        paths: ["android"],
        name: "AndroidConfig",
        summary: "Options for messages to Android devices.",
        fields: commonAndroid + [
            ("priority", "`high` wakes a sleeping device; `normal`, FCM's default, may wait."),
            ("notification", "What Android shows."),
        ]
    )

    private static let commonAndroidNotification = [
        ("title", "The title."),
        ("body", "The text."),
        ("icon", "The name of an icon among the app's drawable resources."),
        ("color", "The color of the icon."),
        ("sound", "The name of a sound among the app's resources, or `default`."),
        ("tag", "A notification replaces the shown one with the same tag."),
        ("clickAction", "The intent filter of the activity that a tap starts."),
        ("bodyLocKey", "The app's string resource that is the text."),
        ("bodyLocArgs", "Values for the places of `bodyLocKey`."),
        ("titleLocKey", "The app's string resource that is the title."),
        ("titleLocArgs", "Values for the places of `titleLocKey`."),
        ("channelId", "The app's notification channel."),
        ("ticker", "A text that accessibility services read aloud."),
        ("sticky", "Whether the notification stays after a tap."),
        ("eventTime", "The time of the event that the notification is about."),
        ("localOnly", "Whether the notification stays on this device and is not shown on a watch, for example."),
        ("notificationPriority", "How prominently the device shows it. It has no effect on delivery."),
        ("defaultSound", "Whether the device plays its default sound."),
        ("defaultVibrateTimings", "Whether the device uses its default vibration."),
        ("defaultLightSettings", "Whether the device blinks as it does by default."),
        ("vibrateTimings", "The vibration: a pause, then vibration and pause in turn."),
        ("visibility", "How much of it a locked device shows."),
        ("notificationCount", "The number of items that it stands for, such as unread messages on the app's badge."),
        ("lightSettings", "How the device's light blinks."),
        ("image", "An image that the device downloads and shows; it replaces that of ``Message/Notification``."),
    ]

    static let androidNotification = PartDescription(
        paths: ["android.notification"],
        name: "AndroidNotification",
        summary: "What an Android device shows.",
        fields: commonAndroidNotification + [
            ("bypassProxyNotification", "Whether the app handles the notification instead of the FCM SDK's proxy."),
            ("proxy", "When Google Play services may show the notification for the app."),
        ]
    )

    static let lightSettings = PartDescription(
        paths: [
            "android.notification.lightSettings", "androidV2.remoteNotification.notification.lightSettings",
        ],
        name: "LightSettings",
        summary: "How a device's light blinks.",
        fields: [
            ("color", "The color of the light."), ("lightOnDuration", "How long the light is on."),
            ("lightOffDuration", "How long the light is off."),
        ]
    )

    static let color = PartDescription(
        paths: lightSettings.paths.map { $0 + ".color" },
        name: "Color",
        summary: "A color by its parts.",
        fields: [
            ("red", "The part of red."), ("green", "The part of green."), ("blue", "The part of blue."),
            ("alpha", "The opacity."),
        ]
    )

    static let androidConfigV2 = PartDescription(
        paths: ["androidV2"],
        name: "AndroidConfigV2",
        summary: "Options for messages to Android devices in FCM's second form.",
        fields: commonAndroid + [
            ("backgroundSync", "Makes the message one that is not urgent and starts a synchronization."),
            ("remoteNotification", "Makes the message one that shows a notification."),
        ]
    )

    static let backgroundSync = PartDescription(
        paths: ["androidV2.backgroundSync"],
        name: "AndroidBackgroundSync",
        summary: "A message that starts a synchronization. It has no fields.",
        fields: []
    )

    static let remoteNotification = PartDescription(
        paths: ["androidV2.remoteNotification"],
        name: "AndroidRemoteNotification",
        summary: "A message that shows a notification on Android.",
        fields: [
            ("mutableContent", "Whether the app may change the notification before it is shown."),
            ("useAsV1DataMessage", "Whether an app with an older SDK gets it as a message of data."),
            ("notification", "What Android shows."),
        ]
    )

    static let androidNotificationV2 = PartDescription(
        paths: ["androidV2.remoteNotification.notification"],
        name: "AndroidNotificationV2",
        summary: "What an Android device shows, in FCM's second form.",
        fields: commonAndroidNotification + [("id", "The number of the notification within the app.")]
    )

    static let webpushConfig = PartDescription(
        paths: ["webpush"],
        name: "WebpushConfig",
        summary: "Options for messages to browsers (RFC 8030).",
        fields: [
            (
                "headers",
                "Header fields of the push: `TTL` from 0 to 2,419,200 seconds; `Urgency` `very-low`, `low`, `normal` or "
                    + "`high`; `Topic` with 1 to 32 of `A-Z a-z 0-9 - _`."
            ),
            ("data", "Values for the app; they replace ``Message/data``."),
            ("notification", "Options of the Notification API, such as `title`, `body` and `actions`."),
            ("fcmOptions", "Options of the FCM SDK for the web."),
        ]
    )

    static let webpushOptions = PartDescription(
        paths: ["webpush.fcmOptions"],
        name: "WebpushFcmOptions",
        summary: "Options of the FCM SDK for the web.",
        fields: [
            ("link", "The page that a click on the notification opens."),
            ("analyticsLabel", "A label by which Firebase's reports count the message."),
        ]
    )

    static let apnsConfig = PartDescription(
        paths: ["apns"],
        name: "ApnsConfig",
        summary: "Options for messages to Apple devices.",
        fields: [
            (
                "headers",
                "Header fields of the push: `apns-priority` 1, 5 or 10; `apns-expiration` a Unix time in seconds; "
                    + "`apns-collapse-id` of at most 64 bytes. Priority 10 needs something that the device shows."
            ),
            ("payload", "The payload: `aps`, and values of your own beside ``Message/data``."),
            ("fcmOptions", "Options of the FCM SDK for Apple devices."),
            ("liveActivityToken", "The token of the Live Activity to start, update or end."),
        ]
    )

    static let apnsOptions = PartDescription(
        paths: ["apns.fcmOptions"],
        name: "ApnsFcmOptions",
        summary: "Options of the FCM SDK for Apple devices.",
        fields: [
            ("analyticsLabel", "A label by which Firebase's reports count the message."),
            ("image", "An image that the device downloads and shows; it replaces that of ``Message/Notification``."),
        ]
    )

    /// The Swift name and the meaning of each set of words, by the field that has it.
    static let choices: [(field: String, name: String, summary: String, prefix: String)] = [
        ("priority", "AndroidPriority", "How urgently FCM delivers a message to an Android device.", ""),
        (
            "notificationPriority", "NotificationPriority", "How prominently an Android device shows a notification.",
            "PRIORITY_"
        ),
        ("visibility", "Visibility", "How much of a notification a locked Android device shows.", "VISIBILITY_"),
        ("proxy", "Proxy", "When Google Play services may show a notification for the app.", "PROXY_"),
    ]
}
