/// The topics of all projects: subscriptions, the rate at which a project may change them, and who receives a message.
struct Topics: Equatable, Sendable {
    /// Subscribe and unsubscribe operations a second, for each project; both APIs share them.
    static let operationsPerSecond = 3_000

    var subscriptions = Subscriptions()
    /// By project id.
    private var windows: [String: QuotaWindow] = [:]
    private var failures = RepeatedFailures()

    // MARK: Who receives a message

    /// The number of subscribers, anonymous ones included.
    ///
    /// - Parameter devices: a described device without a subscription may meet a negation.
    func recipientCount(_ audience: Audience, devices: Devices) -> Int {
        switch audience {
        case .topic(let topic): return subscriptions.count(topic: topic) + subscriptions.anonymousCount(topic: topic)
        case .condition(let condition):
            return subscriptions.tokens(matching: condition, described: devices.names).count
                + subscriptions.anonymousCount(matching: condition)
        }
    }

    /// In a fixed order, so that a run can be repeated.
    func tokens(_ audience: Audience, devices: Devices) -> [String] {
        switch audience {
        case .topic(let topic): return subscriptions.tokens(topic: topic)
        case .condition(let condition):
            return subscriptions.tokens(matching: condition, described: devices.names).sorted()
        }
    }

    /// True while the topic's name, `sbx-topicrate-N-`, asks for a refusal.
    mutating func refusesSend(to topic: String) -> Bool {
        failures.fails("topic:" + topic, times: TokenBehaviour.topicFailures(topic))
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
    mutating func failure(of token: String, isGone: Bool) -> DeviceFailure? {
        guard Recipients.isToken(token) else { return .invalid }
        if isGone { return .unregistered }
        switch TokenBehaviour(token) {
        case .refused(let failure): return failure
        case .retryable(let error, let times):
            guard failures.fails("topics:" + token, times: times) else { return nil }
            // A subscription has no rate of its device.
            return .retryable(error == .deviceRate ? .quota : error)
        case .healthy, .canonical, .slow, .lost: return nil
        }
    }

    /// The delay or loss of a change's answer by the token's prefix.
    mutating func disturbance(of token: String) -> (delayMs: Int64, isLost: Bool) {
        switch TokenBehaviour(token) {
        case .slow(let milliseconds): return (milliseconds, false)
        case .lost(let times): return (0, failures.fails("topics:" + token, times: times))
        default: return (0, false)
        }
    }

    /// Makes these the only topics of the token.
    mutating func replaceTopics(of token: String, with topics: Set<String>) throws(Subscriptions.LimitError) {
        for topic in subscriptions.topics(of: token).subtracting(topics) {
            subscriptions.unsubscribe(token, from: topic)
        }
        for topic in topics { try subscriptions.subscribe(token, to: topic) }
    }

    /// Moves the subscriptions of an app instance to its new token.
    mutating func rename(_ old: String, to new: String) throws(Subscriptions.LimitError) {
        let topics = subscriptions.topics(of: old)
        try replaceTopics(of: old, with: [])
        try replaceTopics(of: new, with: topics)
    }
}
