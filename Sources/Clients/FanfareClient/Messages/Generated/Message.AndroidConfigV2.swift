// Made from the workers' table of fields. TypedMessageFileTests says how to make it again.
public import FanfareJSON

extension Message {
    /// Options for messages to Android devices in FCM's second form.
    public struct AndroidConfigV2: Equatable, Sendable {
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
        /// Makes the message one that is not urgent and starts a synchronization.
        public var backgroundSync: Message.AndroidBackgroundSync?
        /// Makes the message one that shows a notification.
        public var remoteNotification: Message.AndroidRemoteNotification?
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
            backgroundSync: Message.AndroidBackgroundSync? = nil,
            remoteNotification: Message.AndroidRemoteNotification? = nil,
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
            self.backgroundSync = backgroundSync
            self.remoteNotification = remoteNotification
            self.additional = additional
        }
    }
}

extension Message.AndroidConfigV2: MessagePart {
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
        members.add("backgroundSync", backgroundSync)
        members.add("remoteNotification", remoteNotification)
        members.add(additional: additional)
        return members.object
    }
}
