// Made from the workers' table of fields. TypedMessageFileTests says how to make it again.
public import FanfareJSON

extension Message {
    /// How a device's light blinks.
    public struct LightSettings: Equatable, Sendable {
        /// The color of the light.
        public var color: Message.Color
        /// How long the light is on. 0 to 315576000000 seconds, to the nanosecond.
        public var lightOnDuration: Duration
        /// How long the light is off. 0 to 315576000000 seconds, to the nanosecond.
        public var lightOffDuration: Duration
        /// Members that this version of the library does not know, written as they are. Workers reject names that they
        /// do not know.
        public var additional: JSONObject

        /// FCM requires the fields without a default.
        public init(
            color: Message.Color,
            lightOnDuration: Duration,
            lightOffDuration: Duration,
            additional: JSONObject = [:]
        ) {
            self.color = color
            self.lightOnDuration = lightOnDuration
            self.lightOffDuration = lightOffDuration
            self.additional = additional
        }
    }
}

extension Message.LightSettings: MessagePart {
    var json: JSONObject {
        var members = MemberWriter()
        members.add("color", color)
        members.add("lightOnDuration", lightOnDuration)
        members.add("lightOffDuration", lightOffDuration)
        members.add(additional: additional)
        return members.object
    }
}
