import FanfareJSON

/// A well-formed v1 send. Whether it succeeds depends on its recipients.
struct V1Send: Equatable, Sendable {
    enum Target: Equatable, Sendable {
        case token(String), fid(String), audience(Audience)

        var isAudience: Bool {
            if case .audience = self { return true }
            return false
        }
    }

    var target: Target
    var validateOnly: Bool
    var traits: MessageTraits
    /// The request's bytes, from which a delivery's content is read on request.
    var body: [UInt8]
}

enum V1Request {
    static let limits = JSONLimits(maximumDepth: 64, maximumBytes: 1 << 20)

    private static let noRecipient = APIError.invalid("Recipient of the message is not set.", field: "message")

    static func read(_ body: [UInt8]) throws(APIError) -> V1Send {
        let root = try JSONObject(body, limits: limits) { error in
            guard let error else { return APIError.schema("Invalid JSON payload received.") }
            return APIError(.invalidArgument, "Invalid JSON payload received. \(error.reason) at byte \(error.offset).")
        }
        var reader = SchemaReader()
        let request = reader.read(root, as: .sendRequest, at: "")
        guard reader.violations.isEmpty else { throw .schema(reader.violations) }
        guard let message = request["message"]?.object else { throw noRecipient }
        let target = try target(of: message)
        if let error = V1Rules.firstBroken(by: message, target: target) { throw error }
        return V1Send(
            target: target,
            validateOnly: request["validateOnly"]?.bool ?? false,
            traits: V1Options.traits(of: message, isForTopics: target.isAudience),
            body: body
        )
    }

    /// The message of a request, with canonical names; nil if the request is not well formed.
    static func message(in body: [UInt8]) -> JSONObject? {
        guard case .object(let object)? = try? JSONParser.parse(body, limits: limits) else { return nil }
        var reader = SchemaReader()
        return reader.read(object, as: .sendRequest, at: "")["message"]?.object
    }

    private static func target(of message: JSONObject) throws(APIError) -> V1Send.Target {
        let given = ["token", "fid", "topic", "condition"].filter { message[$0] != nil }
        guard let first = given.first, let value = message[first]?.string else { throw noRecipient }
        if given.count > 1 {
            let text =
                "Invalid value at 'message' (oneof), oneof field 'target' is already set. Cannot set '\(given[1])'"
            throw .schema(text, field: "message")
        }
        guard !value.isEmpty else { throw noRecipient }
        switch first {
        case "topic":
            guard Recipients.isTopic(value) else { throw .invalid("Invalid topic name.", field: "message.topic") }
            return .audience(.topic(value))
        case "condition":
            guard let condition = Condition(value) else {
                throw .invalid("Invalid condition expression provided.", field: "message.condition")
            }
            return .audience(.condition(condition))
        default:
            guard Recipients.isToken(value) else { throw .invalidRecipient(field: "message." + first) }
            return first == "token" ? .token(value) : .fid(value)
        }
    }
}
