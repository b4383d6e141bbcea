import FanfareJSON

/// A well-formed request of HTTP v1 about the topic subscriptions of one registration.
struct SubscriptionRequest: Equatable, Sendable {
    enum Operation: Equatable, Sendable {
        case create(topic: String)
        case upsert(topic: String, allowMissing: Bool)
        case delete(topic: String, allowMissing: Bool)
        case get(topic: String)
        case list(size: Int, after: String?)

        /// Whether it counts against the project's subscription operations.
        var isChange: Bool {
            switch self {
            case .create, .upsert, .delete: return true
            case .get, .list: return false
            }
        }
    }

    static let defaultPage = 1_000
    static let maximumPage = 2_000

    /// A token or a Firebase installation id.
    var registration: String
    var operation: Operation

    /// - Parameter path: the segments after `registrations`, still encoded: registration, `topicSubscriptions`, topic.
    /// - Returns: nil if there is no such path; otherwise its methods, and the request if it has one of them.
    static func read(
        _ request: SimulatorRequest,
        path: ArraySlice<Substring>
    ) -> (allowed: String, result: Result<SubscriptionRequest, APIError>?)? {
        let parts = Array(path)
        guard parts.count == 2 || parts.count == 3, parts[1] == "topicSubscriptions" else { return nil }
        let allowed = parts.count == 2 ? "GET, POST" : "GET, PATCH, DELETE"
        guard allowed.split(separator: ", ").contains(where: { $0 == request.method }) else { return (allowed, nil) }
        do throws(APIError) {
            guard let registration = FormText.unescaped(parts[0]), Recipients.isToken(registration) else {
                throw .invalidRecipient(field: "name")
            }
            let reader = try QueryReader(request.query)
            let operation: Operation
            if parts.count == 3 {
                guard let topic = FormText.unescaped(parts[2]), Recipients.isTopic(topic) else {
                    throw .invalid("Invalid topic name.", field: "name")
                }
                operation = try reader.one(topic, request)
            } else {
                operation = try reader.all(request)
            }
            return (allowed, .success(SubscriptionRequest(registration: registration, operation: operation)))
        } catch {
            return (allowed, .failure(error))
        }
    }
}

/// Reads query parameters under both their spellings. Unknown parameters are ignored: Google has general ones.
private struct QueryReader {
    private let pairs: [(name: String, value: String)]

    init(_ query: String) throws(APIError) {
        guard let pairs = FormText.pairs(Array(query.utf8)) else {
            throw .schema("Invalid query.")
        }
        self.pairs = pairs
    }

    func one(_ topic: String, _ request: SimulatorRequest) throws(APIError) -> SubscriptionRequest.Operation {
        switch request.method {
        case "GET": return .get(topic: topic)
        case "DELETE": return .delete(topic: topic, allowMissing: try flag("allowMissing", "allow_missing"))
        default:
            try checkBody(request.body, topic: topic)
            return .upsert(topic: topic, allowMissing: try flag("allowMissing", "allow_missing"))
        }
    }

    func all(_ request: SimulatorRequest) throws(APIError) -> SubscriptionRequest.Operation {
        guard request.method == "POST" else {
            return .list(
                size: try pageSize(),
                after: try value("pageToken", "page_token").flatMap { $0.isEmpty ? nil : $0 }
                    .map { text throws(APIError) in try PageToken.topic(text) }
            )
        }
        guard let topic = value("topicName", "topic_name"), Recipients.isTopic(topic) else {
            throw .invalid("Invalid topic name.", field: "topic_name")
        }
        try checkBody(request.body, topic: topic)
        return .create(topic: topic)
    }

    /// Accepts an empty object, or the subscription itself; its other fields are output only.
    private func checkBody(_ body: [UInt8], topic: String) throws(APIError) {
        guard !body.isEmpty else { return }
        let object = try JSONObject(body, limits: JSONLimits(maximumDepth: 8, maximumBytes: 65_536)) { _ in
            APIError.schema("Invalid JSON payload received.")
        }
        for member in object.members {
            switch member.key {
            case "name", "createTime", "create_time": continue
            case "topicName", "topic_name":
                guard member.value == .string(topic) else {
                    let field = "topic_subscription.topic_name"
                    throw .invalid("The topic name is not the one of the request.", field: field)
                }
            default:
                let text =
                    "Invalid JSON payload received. Unknown name \"\(member.key)\" at 'topic_subscription': "
                    + "Cannot find field."
                throw .schema(text, field: "topic_subscription")
            }
        }
    }

    private func pageSize() throws(APIError) -> Int {
        guard let text = value("pageSize", "page_size"), text != "0" else { return SubscriptionRequest.defaultPage }
        guard let size = Int32(text), size > 0 else {
            throw .invalid("Invalid page size.", field: "page_size", fcmError: false)
        }
        return min(Int(size), SubscriptionRequest.maximumPage)
    }

    private func flag(_ camel: String, _ snake: String) throws(APIError) -> Bool {
        switch value(camel, snake) {
        case nil, "false": return false
        case "true": return true
        default: throw .invalid("Invalid value for \(snake).", field: snake, fcmError: false)
        }
    }

    private func value(_ camel: String, _ snake: String) -> String? {
        pairs.last { $0.name == camel || $0.name == snake }?.value
    }
}

/// Names the last topic of a page. It is opaque to the client and checked when it comes back.
enum PageToken {
    private static let prefix = "sbx1."

    static func make(after topic: String) -> String { prefix + topic }

    static func topic(_ text: String) throws(APIError) -> String {
        let topic = String(text.dropFirst(prefix.utf8.count))
        guard text.hasPrefix(prefix), Recipients.isTopic(topic) else {
            throw .invalid("Invalid page token.", field: "page_token", fcmError: false)
        }
        return topic
    }
}
