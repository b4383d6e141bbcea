// Made from the workers' table of fields. TypedMessageFileTests says how to make it again.
public import FanfareJSON

extension Message {
    /// A color by its parts.
    public struct Color: Equatable, Sendable {
        /// The part of red. 0 to 1.
        public var red: Double?
        /// The part of green. 0 to 1.
        public var green: Double?
        /// The part of blue. 0 to 1.
        public var blue: Double?
        /// The opacity. 0 to 1.
        public var alpha: Double?
        /// Members that this version of the library does not know, written as they are. Workers reject names that they
        /// do not know.
        public var additional: JSONObject

        /// A field that is left out stays absent.
        public init(
            red: Double? = nil,
            green: Double? = nil,
            blue: Double? = nil,
            alpha: Double? = nil,
            additional: JSONObject = [:]
        ) {
            self.red = red
            self.green = green
            self.blue = blue
            self.alpha = alpha
            self.additional = additional
        }
    }
}

extension Message.Color: MessagePart {
    var json: JSONObject {
        var members = MemberWriter()
        members.add("red", red)
        members.add("green", green)
        members.add("blue", blue)
        members.add("alpha", alpha)
        members.add(additional: additional)
        return members.object
    }
}
