// Made from the workers' table of fields. TypedMessageFileTests says how to make it again.
public import FanfareJSON

extension Message {
    /// Options for messages to Apple devices.
    public struct ApnsConfig: Equatable, Sendable {
        /// Header fields of the push: `apns-priority` 1, 5 or 10; `apns-expiration` a Unix time in seconds;
        /// `apns-collapse-id` of at most 64 bytes. Priority 10 needs something that the device shows.
        public var headers: [String: String]?
        /// The payload: `aps`, and values of your own beside ``Message/data``.
        public var payload: JSONObject?
        /// Options of the FCM SDK for Apple devices.
        public var fcmOptions: Message.ApnsFcmOptions?
        /// The token of the Live Activity to start, update or end.
        public var liveActivityToken: String?
        /// Members that this version of the library does not know, written as they are. Workers reject names that they
        /// do not know.
        public var additional: JSONObject

        /// A field that is left out stays absent.
        public init(
            headers: [String: String]? = nil,
            payload: JSONObject? = nil,
            fcmOptions: Message.ApnsFcmOptions? = nil,
            liveActivityToken: String? = nil,
            additional: JSONObject = [:]
        ) {
            self.headers = headers
            self.payload = payload
            self.fcmOptions = fcmOptions
            self.liveActivityToken = liveActivityToken
            self.additional = additional
        }
    }
}

extension Message.ApnsConfig: MessagePart {
    var json: JSONObject {
        var members = MemberWriter()
        members.add("headers", headers)
        members.add("payload", payload)
        members.add("fcmOptions", fcmOptions)
        members.add("liveActivityToken", liveActivityToken)
        members.add(additional: additional)
        return members.object
    }
}
