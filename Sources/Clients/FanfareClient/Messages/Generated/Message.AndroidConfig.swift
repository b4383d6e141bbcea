// Made from the workers' table of fields. TypedMessageFileTests says how to make it again.
public import FanfareJSON

extension Message {
    /// Options for messages to Android devices.
    public struct AndroidConfig: Equatable, Sendable {
        /// Names a group of messages of which a device that was offline gets only the last. FCM keeps up to four keys
        /// for a device.
        public var collapseKey: String?
        /// How long FCM keeps the message for a device that is offline; zero means deliver now or never. FCM's default
        /// is four weeks. 0 to 2419200 seconds, to the nanosecond.
        public var ttl: Duration?
        /// The package name that an app must have to get the message.
        public var restrictedPackageName: String?
        /// Values for the app; they replace ``Message/data``.
        public var data: [String: String]?
        /// Options of the FCM SDK for Android.
        public var fcmOptions: Message.FcmOptions?
        /// Whether the app may get the message before the user has unlocked the device once.
        public var directBootOk: Bool?
        /// Whether the app may get the message over a network of low bandwidth. Only for apps that can handle it.
        public var bandwidthConstrainedOk: Bool?
        /// Whether the app may get the message over a restricted satellite network.
        public var restrictedSatelliteOk: Bool?
        /// `high` wakes a sleeping device; `normal`, FCM's default, may wait.
        public var priority: Message.AndroidPriority?
        /// What Android shows.
        public var notification: Message.AndroidNotification?
        /// Members that this version of the library does not know, written as they are. Workers reject names that they
        /// do not know.
        public var additional: JSONObject

        /// A field that is left out stays absent.
        public init(
            collapseKey: String? = nil,
            ttl: Duration? = nil,
            restrictedPackageName: String? = nil,
            data: [String: String]? = nil,
            fcmOptions: Message.FcmOptions? = nil,
            directBootOk: Bool? = nil,
            bandwidthConstrainedOk: Bool? = nil,
            restrictedSatelliteOk: Bool? = nil,
            priority: Message.AndroidPriority? = nil,
            notification: Message.AndroidNotification? = nil,
            additional: JSONObject = [:]
        ) {
            self.collapseKey = collapseKey
            self.ttl = ttl
            self.restrictedPackageName = restrictedPackageName
            self.data = data
            self.fcmOptions = fcmOptions
            self.directBootOk = directBootOk
            self.bandwidthConstrainedOk = bandwidthConstrainedOk
            self.restrictedSatelliteOk = restrictedSatelliteOk
            self.priority = priority
            self.notification = notification
            self.additional = additional
        }
    }
}

extension Message.AndroidConfig: MessagePart {
    var json: JSONObject {
        var members = MemberWriter()
        members.add("collapseKey", collapseKey)
        members.add("ttl", ttl)
        members.add("restrictedPackageName", restrictedPackageName)
        members.add("data", data)
        members.add("fcmOptions", fcmOptions)
        members.add("directBootOk", directBootOk)
        members.add("bandwidthConstrainedOk", bandwidthConstrainedOk)
        members.add("restrictedSatelliteOk", restrictedSatelliteOk)
        members.add("priority", priority)
        members.add("notification", notification)
        members.add(additional: additional)
        return members.object
    }
}
