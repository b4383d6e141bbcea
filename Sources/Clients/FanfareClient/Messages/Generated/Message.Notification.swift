// Made from the workers' table of fields. TypedMessageFileTests says how to make it again.
public import FanfareJSON

extension Message {
    /// A notification that every platform shows. A field of a platform's own notification replaces the field of the
    /// same name.
    public struct Notification: Equatable, Sendable {
        /// The title.
        public var title: String?
        /// The text.
        public var body: String?
        /// An image that the device downloads and shows. An `http://` or `https://` URL.
        public var image: String?
        /// Members that this version of the library does not know, written as they are. Workers reject names that they
        /// do not know.
        public var additional: JSONObject

        /// A field that is left out stays absent.
        public init(
            title: String? = nil,
            body: String? = nil,
            image: String? = nil,
            additional: JSONObject = [:]
        ) {
            self.title = title
            self.body = body
            self.image = image
            self.additional = additional
        }
    }
}

extension Message.Notification: MessagePart {
    var json: JSONObject {
        var members = MemberWriter()
        members.add("title", title)
        members.add("body", body)
        members.add("image", image)
        members.add(additional: additional)
        return members.object
    }
}
