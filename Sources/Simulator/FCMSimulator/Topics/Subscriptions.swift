/// The topic subscriptions. Tokens are stored by name. Anonymous subscribers are a number only, so that an audience of
/// millions costs nothing. All projects of a simulator share the subscriptions.
struct Subscriptions: Equatable, Sendable {
    static let maximumTokens = 1_000_000
    /// Topics of one token.
    static let maximumTopics = 2_000
    /// Topics that have anonymous subscribers.
    static let maximumAnonymousTopics = 100_000
    /// Anonymous subscribers of one topic.
    static let maximumAnonymous = 1_000_000_000

    enum LimitError: Error, Equatable, Sendable { case tooManyTopics, tooManyTokens }

    private var topics: [String: Set<String>] = [:]
    private var tokens: [String: Set<String>] = [:]
    private var anonymous: [String: Int] = [:]
    /// When a subscription was made, Unix milliseconds, by the hash of token and topic; absent for a described one.
    private var created: [UInt64: Int64] = [:]

    func topics(of token: String) -> Set<String> { topics[token] ?? [] }

    /// When the subscription was made, Unix milliseconds; nil for a described one.
    func createdMs(_ token: String, _ topic: String) -> Int64? { created[Self.pair(token, topic)] }

    /// - Parameter nowMs: when the subscription is made, Unix milliseconds; nil for a described one.
    mutating func subscribe(_ token: String, to topic: String, nowMs: Int64? = nil) throws(LimitError) {
        guard topics[token] != nil || topics.count < Self.maximumTokens else { throw .tooManyTokens }
        guard topics(of: token).count < Self.maximumTopics || topics(of: token).contains(topic) else {
            throw .tooManyTopics
        }
        if let nowMs, topics[token]?.contains(topic) != true { created[Self.pair(token, topic)] = nowMs }
        topics[token, default: []].insert(topic)
        tokens[topic, default: []].insert(token)
    }

    mutating func unsubscribe(_ token: String, from topic: String) {
        created[Self.pair(token, topic)] = nil
        topics[token]?.remove(topic)
        if topics[token]?.isEmpty == true { topics[token] = nil }
        tokens[topic]?.remove(token)
        if tokens[topic]?.isEmpty == true { tokens[topic] = nil }
    }

    private static func pair(_ token: String, _ topic: String) -> UInt64 { TokenHash.of(token + " " + topic) }

    /// - Returns: false if there would be too many.
    mutating func addAnonymous(_ count: Int, to topic: String) -> Bool {
        let before = anonymous[topic] ?? 0
        guard count <= Self.maximumAnonymous - before, before > 0 || anonymous.count < Self.maximumAnonymousTopics
        else {
            return false
        }
        if count > 0 { anonymous[topic] = before + count }
        return true
    }

    func anonymousCount(topic: String) -> Int { anonymous[topic] ?? 0 }

    /// The anonymous subscribers that meet a condition. Each has one topic, so `&&` of two topics finds none.
    func anonymousCount(matching condition: Condition) -> Int {
        // Subscribers of topics that the condition does not name meet a negation.
        let candidates = condition.isNegating ? Array(anonymous.keys) : Array(Set(condition.topics))
        return candidates.reduce(0) { $0 + (condition.matches([$1]) ? anonymousCount(topic: $1) : 0) }
    }

    func count(topic: String) -> Int { tokens[topic]?.count ?? 0 }

    /// In a fixed order, so that a run can be repeated.
    func tokens(topic: String) -> [String] { (tokens[topic] ?? []).sorted() }

    /// - Parameter described: devices that may have no subscription at all, and yet meet a negation.
    func tokens(matching condition: Condition, described: some Sequence<String>) -> Set<String> {
        guard condition.isNegating else {
            var found: Set<String> = []
            for topic in Set(condition.topics) {
                for token in tokens[topic] ?? [] where condition.matches(topics(of: token)) { found.insert(token) }
            }
            return found
        }
        var found = Set(topics.lazy.filter { condition.matches($0.value) }.map(\.key))
        if condition.matches([]) { for token in described where topics[token] == nil { found.insert(token) } }
        return found
    }
}
