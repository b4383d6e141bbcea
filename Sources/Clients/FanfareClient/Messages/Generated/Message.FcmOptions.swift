// Made from the workers' table of fields. TypedMessageFileTests says how to make it again.
public import FanfareJSON

extension Message {
    /// Options of the FCM SDKs.
    public struct FcmOptions: Equatable, Sendable {
        /// A label by which Firebase's reports count the message. 1 to 50 of `A-Z a-z 0-9 - _ . ~ %`.
        public var analyticsLabel: String?
        /// Members that this version of the library does not know, written as they are. Workers reject names that they
        /// do not know.
        public var additional: JSONObject

        /// A field that is left out stays absent.
        public init(
            analyticsLabel: String? = nil,
            additional: JSONObject = [:]
        ) {
            self.analyticsLabel = analyticsLabel
            self.additional = additional
        }
    }
}

extension Message.FcmOptions: MessagePart {
    var json: JSONObject {
        var members = MemberWriter()
        members.add("analyticsLabel", analyticsLabel)
        members.add(additional: additional)
        return members.object
    }
}
