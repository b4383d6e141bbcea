// Made from the workers' table of fields. TypedMessageFileTests says how to make it again.
public import FanfareJSON

extension Message {
    /// A message that starts a synchronization. It has no fields.
    public struct AndroidBackgroundSync: Equatable, Sendable {
        /// Members that this version of the library does not know, written as they are. Workers reject names that they
        /// do not know.
        public var additional: JSONObject

        /// A field that is left out stays absent.
        public init(
            additional: JSONObject = [:]
        ) {
            self.additional = additional
        }
    }
}

extension Message.AndroidBackgroundSync: MessagePart {
    var json: JSONObject {
        var members = MemberWriter()
        members.add(additional: additional)
        return members.object
    }
}
