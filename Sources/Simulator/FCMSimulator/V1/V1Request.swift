import FanfareJSON

/// A well-formed v1 send. Whether it succeeds depends on its recipients.
struct V1Send: Equatable, Sendable {
    enum Target: Equatable, Sendable {
        case token(String), fid(String), topic(String), condition(Condition)

        /// True for topics and for conditions on them.
        var isTopics: Bool {
            switch self {
            case .topic, .condition: return true
            case .token, .fid: return false
            }
        }
    }

    var target: Target
    var validateOnly: Bool
    var traits: MessageTraits
    /// The request's bytes, from which a delivery's content is read on request.
    var body: [UInt8]
}

enum V1Request {
    static let limits = JSONLimits(maxDepth: 64, maxBytes: 1 << 20)

    static func read(_ body: [UInt8]) -> Result<V1Send, APIError> {
        let root: JSONObject
        do throws(JSONError) {
            guard case .object(let object) = try JSONParser.parse(body, limits: limits) else {
                return .failure(.schema([.init(field: "", description: "Invalid JSON payload received.")]))
            }
            root = object
        } catch {
            let text = "Invalid JSON payload received. \(error.reason) at byte \(error.offset)."
            return .failure(APIError(code: 400, status: "INVALID_ARGUMENT", message: text))
        }
        var reader = SchemaReader()
        let request = reader.read(root, as: .sendRequest, at: "")
        guard reader.violations.isEmpty else { return .failure(.schema(reader.violations)) }
        guard let message = request["message"]?.object else {
            return .failure(.invalid("Recipient of the message is not set.", field: "message"))
        }
        return target(of: message).flatMap { target in
            if let error = V1Rules.firstBroken(by: message, target: target) { return .failure(error) }
            return .success(
                V1Send(
                    target: target,
                    validateOnly: request["validateOnly"]?.bool ?? false,
                    traits: V1Options.traits(of: message, isForTopics: target.isTopics),
                    body: body
                )
            )
        }
    }

    /// The message of a request, with canonical names; nil if the request is not well formed.
    static func message(in body: [UInt8]) -> JSONObject? {
        guard case .object(let object)? = try? JSONParser.parse(body, limits: limits) else { return nil }
        var reader = SchemaReader()
        return reader.read(object, as: .sendRequest, at: "")["message"]?.object
    }

    private static func target(of message: JSONObject) -> Result<V1Send.Target, APIError> {
        let given = ["token", "fid", "topic", "condition"].filter { message[$0] != nil }
        guard let first = given.first, let value = message[first]?.string else {
            return .failure(.invalid("Recipient of the message is not set.", field: "message"))
        }
        if given.count > 1 {
            let text =
                "Invalid value at 'message' (oneof), oneof field 'target' is already set. Cannot set '\(given[1])'"
            return .failure(.schema([.init(field: "message", description: text)]))
        }
        guard !value.isEmpty else {
            return .failure(.invalid("Recipient of the message is not set.", field: "message"))
        }
        switch first {
        case "token":
            return Recipients.isToken(value)
                ? .success(.token(value)) : .failure(.invalidRecipient(field: "message.token"))
        case "fid":
            return Recipients.isToken(value) ? .success(.fid(value)) : .failure(.invalidRecipient(field: "message.fid"))
        case "topic":
            return Recipients.isTopic(value)
                ? .success(.topic(value)) : .failure(.invalid("Invalid topic name.", field: "message.topic"))
        default:
            guard let condition = Condition(value) else {
                return .failure(.invalid("Invalid condition expression provided.", field: "message.condition"))
            }
            return .success(.condition(condition))
        }
    }
}
