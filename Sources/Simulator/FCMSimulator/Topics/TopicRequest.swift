import FanfareJSON

/// A well-formed request of the Instance ID API: adds tokens to a topic or removes them.
struct TopicRequest: Equatable, Sendable {
    static let maximumTokens = 1_000

    var isAdding: Bool
    /// Bare, without `/topics/`.
    var topic: String
    var tokens: [String]

    static func read(_ body: [UInt8], isAdding: Bool) throws(TopicError) -> TopicRequest {
        guard let value = try? JSONParser.parse(body, limits: JSONLimits(maximumDepth: 8, maximumBytes: 4 << 20)),
            let to = value.object?["to"]?.string, to.hasPrefix("/topics/"),
            let list = value.object?["registration_tokens"]?.array
        else { throw .badRequest }
        let topic = String(to.dropFirst("/topics/".count))
        let tokens = list.compactMap(\.string)
        guard Recipients.isTopic(topic), tokens.count == list.count, (1...maximumTokens).contains(tokens.count) else {
            throw .badRequest
        }
        return TopicRequest(isAdding: isAdding, topic: topic, tokens: tokens)
    }
}

/// Why the Instance ID API refuses a whole request: a status and one word.
struct TopicError: Error, Equatable, Sendable {
    var status: Int
    var word: String

    static let badRequest = TopicError(status: 400, word: "INVALID_ARGUMENT")
    static let unauthenticated = TopicError(status: 401, word: "UNAUTHENTICATED")
    static let forbidden = TopicError(status: 403, word: "PERMISSION_DENIED")
    static let rate = TopicError(status: 429, word: "RESOURCE_EXHAUSTED")

    var reply: SimulatorReply { SimulatorReply(status: status, object: ["error": .string(word)]) }
}
