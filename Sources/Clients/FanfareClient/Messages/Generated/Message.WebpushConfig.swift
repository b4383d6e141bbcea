// Made from the workers' table of fields. TypedMessageFileTests says how to make it again.
public import FanfareJSON

extension Message {
    /// Options for messages to browsers (RFC 8030).
    public struct WebpushConfig: Equatable, Sendable {
        /// Header fields of the push: `TTL` from 0 to 2,419,200 seconds; `Urgency` `very-low`, `low`, `normal` or
        /// `high`; `Topic` with 1 to 32 of `A-Z a-z 0-9 - _`.
        public var headers: [String: String]?
        /// Values for the app; they replace ``Message/data``.
        public var data: [String: String]?
        /// Options of the Notification API, such as `title`, `body` and `actions`.
        public var notification: JSONObject?
        /// Options of the FCM SDK for the web.
        public var fcmOptions: Message.WebpushFcmOptions?
        /// Members that this version of the library does not know, written as they are. Workers reject names that they
        /// do not know.
        public var additional: JSONObject

        /// A field that is left out stays absent.
        public init(
            headers: [String: String]? = nil,
            data: [String: String]? = nil,
            notification: JSONObject? = nil,
            fcmOptions: Message.WebpushFcmOptions? = nil,
            additional: JSONObject = [:]
        ) {
            self.headers = headers
            self.data = data
            self.notification = notification
            self.fcmOptions = fcmOptions
            self.additional = additional
        }
    }
}

extension Message.WebpushConfig: MessagePart {
    var json: JSONObject {
        var members = MemberWriter()
        members.add("headers", headers)
        members.add("data", data)
        members.add("notification", notification)
        members.add("fcmOptions", fcmOptions)
        members.add(additional: additional)
        return members.object
    }
}
