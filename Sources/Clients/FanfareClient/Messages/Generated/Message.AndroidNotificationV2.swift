// Made from the workers' table of fields. TypedMessageFileTests says how to make it again.
public import FanfareJSON

extension Message {
    /// What an Android device shows, in FCM's second form.
    public struct AndroidNotificationV2: Equatable, Sendable {
        /// The title.
        public var title: String?
        /// The text.
        public var body: String?
        /// The name of an icon among the app's drawable resources.
        public var icon: String?
        /// The color of the icon. As `#rrggbb`.
        public var color: String?
        /// The name of a sound among the app's resources, or `default`.
        public var sound: String?
        /// A notification replaces the shown one with the same tag.
        public var tag: String?
        /// The intent filter of the activity that a tap starts.
        public var clickAction: String?
        /// The app's string resource that is the text.
        public var bodyLocKey: String?
        /// Values for the places of `bodyLocKey`.
        public var bodyLocArgs: [String]?
        /// The app's string resource that is the title.
        public var titleLocKey: String?
        /// Values for the places of `titleLocKey`.
        public var titleLocArgs: [String]?
        /// The app's notification channel.
        public var channelId: String?
        /// A text that accessibility services read aloud.
        public var ticker: String?
        /// Whether the notification stays after a tap.
        public var sticky: Bool?
        /// The time of the event that the notification is about. In RFC 3339, such as `2026-01-31T08:30:00Z`.
        public var eventTime: String?
        /// Whether the notification stays on this device and is not shown on a watch, for example.
        public var localOnly: Bool?
        /// How prominently the device shows it. It has no effect on delivery.
        public var notificationPriority: Message.NotificationPriority?
        /// Whether the device plays its default sound.
        public var defaultSound: Bool?
        /// Whether the device uses its default vibration.
        public var defaultVibrateTimings: Bool?
        /// Whether the device blinks as it does by default.
        public var defaultLightSettings: Bool?
        /// The vibration: a pause, then vibration and pause in turn. Each: 0 to 315576000000 seconds, to the
        /// nanosecond.
        public var vibrateTimings: [Duration]?
        /// How much of it a locked device shows.
        public var visibility: Message.Visibility?
        /// The number of items that it stands for, such as unread messages on the app's badge.
        public var notificationCount: Int32?
        /// How the device's light blinks.
        public var lightSettings: Message.LightSettings?
        /// An image that the device downloads and shows; it replaces that of ``Message/Notification``. An `http://` or
        /// `https://` URL.
        public var image: String?
        /// The number of the notification within the app.
        public var id: Int32?
        /// Members that this version of the library does not know, written as they are. Workers reject names that they
        /// do not know.
        public var additional: JSONObject

        /// A field that is left out stays absent.
        public init(
            title: String? = nil,
            body: String? = nil,
            icon: String? = nil,
            color: String? = nil,
            sound: String? = nil,
            tag: String? = nil,
            clickAction: String? = nil,
            bodyLocKey: String? = nil,
            bodyLocArgs: [String]? = nil,
            titleLocKey: String? = nil,
            titleLocArgs: [String]? = nil,
            channelId: String? = nil,
            ticker: String? = nil,
            sticky: Bool? = nil,
            eventTime: String? = nil,
            localOnly: Bool? = nil,
            notificationPriority: Message.NotificationPriority? = nil,
            defaultSound: Bool? = nil,
            defaultVibrateTimings: Bool? = nil,
            defaultLightSettings: Bool? = nil,
            vibrateTimings: [Duration]? = nil,
            visibility: Message.Visibility? = nil,
            notificationCount: Int32? = nil,
            lightSettings: Message.LightSettings? = nil,
            image: String? = nil,
            id: Int32? = nil,
            additional: JSONObject = [:]
        ) {
            self.title = title
            self.body = body
            self.icon = icon
            self.color = color
            self.sound = sound
            self.tag = tag
            self.clickAction = clickAction
            self.bodyLocKey = bodyLocKey
            self.bodyLocArgs = bodyLocArgs
            self.titleLocKey = titleLocKey
            self.titleLocArgs = titleLocArgs
            self.channelId = channelId
            self.ticker = ticker
            self.sticky = sticky
            self.eventTime = eventTime
            self.localOnly = localOnly
            self.notificationPriority = notificationPriority
            self.defaultSound = defaultSound
            self.defaultVibrateTimings = defaultVibrateTimings
            self.defaultLightSettings = defaultLightSettings
            self.vibrateTimings = vibrateTimings
            self.visibility = visibility
            self.notificationCount = notificationCount
            self.lightSettings = lightSettings
            self.image = image
            self.id = id
            self.additional = additional
        }
    }
}

extension Message.AndroidNotificationV2: MessagePart {
    var json: JSONObject {
        var members = MemberWriter()
        members.add("title", title)
        members.add("body", body)
        members.add("icon", icon)
        members.add("color", color)
        members.add("sound", sound)
        members.add("tag", tag)
        members.add("clickAction", clickAction)
        members.add("bodyLocKey", bodyLocKey)
        members.add("bodyLocArgs", bodyLocArgs)
        members.add("titleLocKey", titleLocKey)
        members.add("titleLocArgs", titleLocArgs)
        members.add("channelId", channelId)
        members.add("ticker", ticker)
        members.add("sticky", sticky)
        members.add("eventTime", eventTime)
        members.add("localOnly", localOnly)
        members.add("notificationPriority", notificationPriority)
        members.add("defaultSound", defaultSound)
        members.add("defaultVibrateTimings", defaultVibrateTimings)
        members.add("defaultLightSettings", defaultLightSettings)
        members.add("vibrateTimings", vibrateTimings)
        members.add("visibility", visibility)
        members.add("notificationCount", notificationCount)
        members.add("lightSettings", lightSettings)
        members.add("image", image)
        members.add("id", id)
        members.add(additional: additional)
        return members.object
    }
}
