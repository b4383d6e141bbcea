/// The topics of all projects: subscriptions, the rate at which a project may change them, and who receives a message.
struct Topics: Equatable, Sendable {
    /// Subscribe and unsubscribe operations a second, for each project; both APIs share them.
    static let operationsPerSecond = 3_000

    private(set) var subscriptions = Subscriptions()
    /// By project id.
    private var windows: [String: QuotaWindow] = [:]
    private var failures = RepeatedFailures()

    // MARK: Who receives a message

    /// The number of subscribers, anonymous ones included.
    ///
    /// - Parameter devices: a described device without a subscription may meet a negation.
    func recipientCount(_ audience: FanoutMessage.Audience, devices: Devices) -> Int {
        switch audience {
        case .topic(let topic): return subscriptions.count(topic: topic) + subscriptions.anonymousCount(topic: topic)
        case .condition(let condition):
            return subscriptions.tokens(matching: condition, described: devices.names).count
                + subscriptions.anonymousCount(matching: condition)
        }
    }

    /// In a fixed order, so that a run can be repeated.
    func tokens(_ audience: FanoutMessage.Audience, devices: Devices) -> [String] {
        switch audience {
        case .topic(let topic): return subscriptions.tokens(topic: topic)
        case .condition(let condition):
            return subscriptions.tokens(matching: condition, described: devices.names).sorted()
        }
    }

    /// True while the topic's name, `sbx-topicrate-N-`, asks for a refusal.
    mutating func refusesSend(to topic: String) -> Bool {
        failures.fails("topic:" + topic, times: TokenBehaviour.topicRefusals(topic))
    }

    // MARK: Changes

    /// - Returns: how many of `count` operations the project may do in this second.
    mutating func admit(_ count: Int, project: String, nowMs: Int64) -> Int {
        windows[project, default: QuotaWindow(limit: Self.operationsPerSecond, lengthMs: 1_000)]
            .consume(upTo: count, nowMs: nowMs)
    }

    /// Why a token cannot be subscribed now; nil if it can.
    ///
    /// - Parameter isGone: its registration has ended.
    mutating func refusal(of token: String, isGone: Bool) -> RegistrationRefusal? {
        guard Recipients.isToken(token) else { return .invalid }
        if isGone { return .unregistered }
        switch TokenBehaviour(token) {
        case .unregistered: return .unregistered
        case .invalid: return .invalid
        case .mismatch: return .mismatch
        case .auth: return .auth
        case .retryable(let error, let times):
            return failures.fails("topics:" + token, times: times) ? .retryable(error) : nil
        case .healthy, .canonical, .slow, .lost: return nil
        }
    }

    /// What the token's prefix does to the answer of a change.
    mutating func disturbance(of token: String) -> (delayMs: Int64, isLost: Bool) {
        switch TokenBehaviour(token) {
        case .slow(let milliseconds): return (milliseconds, false)
        case .lost(let times): return (0, failures.fails("topics:" + token, times: times))
        default: return (0, false)
        }
    }

    /// - Parameter nowMs: when the subscription is made, Unix milliseconds; nil for a described one.
    mutating func subscribe(_ token: String, to topic: String, nowMs: Int64?) throws(Subscriptions.Refusal) {
        try subscriptions.subscribe(token, to: topic, nowMs: nowMs)
    }

    mutating func unsubscribe(_ token: String, from topic: String) {
        subscriptions.unsubscribe(token, from: topic)
    }

    /// Makes these the only topics of the token.
    mutating func replaceTopics(of token: String, with topics: Set<String>) throws(Subscriptions.Refusal) {
        for topic in subscriptions.topics(of: token).subtracting(topics) {
            subscriptions.unsubscribe(token, from: topic)
        }
        for topic in topics { try subscriptions.subscribe(token, to: topic) }
    }

    /// Moves the subscriptions of an app instance to its new token.
    mutating func rename(_ old: String, to new: String) throws(Subscriptions.Refusal) {
        let topics = subscriptions.topics(of: old)
        try replaceTopics(of: old, with: [])
        try replaceTopics(of: new, with: topics)
    }

    /// - Returns: false if there would be too many.
    mutating func addAnonymous(_ count: Int, to topic: String) -> Bool {
        subscriptions.addAnonymous(count, to: topic)
    }
}

/// Why a registration token's subscriptions cannot be changed or read.
enum RegistrationRefusal: Equatable, Sendable {
    case invalid, unregistered, mismatch, auth
    case retryable(RetryableError)

    /// The Instance ID API's word for it.
    var word: String {
        switch self {
        case .invalid: return "INVALID_ARGUMENT"
        case .unregistered: return "NOT_FOUND"
        case .mismatch, .auth: return "PERMISSION_DENIED"
        case .retryable(.unavailable): return "DEADLINE_EXCEEDED"
        case .retryable(.internalError): return "INTERNAL"
        case .retryable(.quota), .retryable(.deviceRate): return "RESOURCE_EXHAUSTED"
        }
    }

    /// HTTP v1 has two errors where the Instance ID API has one word, `PERMISSION_DENIED`.
    var apiError: APIError {
        switch self {
        case .invalid: return .invalidRecipient(field: "name")
        case .unregistered: return .unregistered
        case .mismatch: return .senderMismatch
        case .auth: return .thirdPartyAuth
        case .retryable(.unavailable): return .unavailable
        case .retryable(.internalError): return .internalError
        case .retryable(.quota), .retryable(.deviceRate): return .quotaExceeded
        }
    }

    /// The answer to a question about one token.
    var infoRefusal: TopicRefusal {
        switch self {
        case .invalid: return TopicRefusal(status: 400, word: "InvalidToken")
        case .unregistered: return TopicRefusal(status: 404, word: "No information found about this instance id.")
        case .mismatch, .auth: return .forbidden
        case .retryable(.quota), .retryable(.deviceRate): return .rate
        case .retryable(.unavailable), .retryable(.internalError): return TopicRefusal(status: 500, word: "INTERNAL")
        }
    }
}
