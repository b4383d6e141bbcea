// Made from the workers' table of fields. TypedMessageFileTests says how to make it again.
public import FanfareJSON

extension Message {
    /// Options of the FCM SDK for the web.
    public struct WebpushFcmOptions: Equatable, Sendable {
        /// The page that a click on the notification opens. An `https://` URL.
        public var link: String?
        /// A label by which Firebase's reports count the message. 1 to 50 of `A-Z a-z 0-9 - _ . ~ %`.
        public var analyticsLabel: String?
        /// Members that this version of the library does not know, written as they are. Workers reject names that they
        /// do not know.
        public var additional: JSONObject

        /// A field that is left out stays absent.
        public init(
            link: String? = nil,
            analyticsLabel: String? = nil,
            additional: JSONObject = [:]
        ) {
            self.link = link
            self.analyticsLabel = analyticsLabel
            self.additional = additional
        }
    }
}

extension Message.WebpushFcmOptions: MessagePart {
    var json: JSONObject {
        var members = MemberWriter()
        members.add("link", link)
        members.add("analyticsLabel", analyticsLabel)
        members.add(additional: additional)
        return members.object
    }
}
