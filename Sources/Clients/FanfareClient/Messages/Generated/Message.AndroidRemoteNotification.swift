// Made from the workers' table of fields. TypedMessageFileTests says how to make it again.
public import FanfareJSON

extension Message {
    /// A message that shows a notification on Android.
    public struct AndroidRemoteNotification: Equatable, Sendable {
        /// Whether the app may change the notification before it is shown.
        public var mutableContent: Bool?
        /// Whether an app with an older SDK gets it as a message of data.
        public var useAsV1DataMessage: Bool?
        /// What Android shows.
        public var notification: Message.AndroidNotificationV2?
        /// Members that this version of the library does not know, written as they are. Workers reject names that they
        /// do not know.
        public var additional: JSONObject

        /// A field that is left out stays absent.
        public init(
            mutableContent: Bool? = nil,
            useAsV1DataMessage: Bool? = nil,
            notification: Message.AndroidNotificationV2? = nil,
            additional: JSONObject = [:]
        ) {
            self.mutableContent = mutableContent
            self.useAsV1DataMessage = useAsV1DataMessage
            self.notification = notification
            self.additional = additional
        }
    }
}

extension Message.AndroidRemoteNotification: MessagePart {
    var json: JSONObject {
        var members = MemberWriter()
        members.add("mutableContent", mutableContent)
        members.add("useAsV1DataMessage", useAsV1DataMessage)
        members.add("notification", notification)
        members.add(additional: additional)
        return members.object
    }
}
