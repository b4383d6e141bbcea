/// The subscribers that a message is for.
enum Audience: Equatable, Sendable { case topic(String), condition(Condition) }

/// A topic condition: `'a' in topics && ('b' in topics || 'c' in topics)`. Parentheses come first, then operators from
/// left to right: `&&` does not bind tighter than `||`.
struct Condition: Equatable, Sendable {
    indirect enum Node: Equatable, Sendable {
        case topic(String)
        case not(Node)
        case both(Node, Node)
        case either(Node, Node)

        func matches(_ subscribed: Set<String>) -> Bool {
            switch self {
            case .topic(let name): return subscribed.contains(name)
            case .not(let inner): return !inner.matches(subscribed)
            case .both(let left, let right): return left.matches(subscribed) && right.matches(subscribed)
            case .either(let left, let right): return left.matches(subscribed) || right.matches(subscribed)
            }
        }
    }

    let text: String
    let root: Node
    let topics: [String]
    /// Whether devices without any of its topics may meet it.
    let isNegating: Bool

    static let maximumTopics = 5

    init?(_ text: String) {
        guard text.utf8.count <= 5_000 else { return nil }
        var parser = ConditionParser(text)
        guard let root = parser.whole(), parser.topics.count <= Self.maximumTopics else { return nil }
        self.text = text
        self.root = root
        topics = parser.topics
        isNegating = parser.isNegating
    }

    /// - Parameter subscribed: the topics of one device.
    func matches(_ subscribed: Set<String>) -> Bool { root.matches(subscribed) }
}

/// A recursive descent parser. Its depth is bounded, because a hostile text may be all parentheses.
private struct ConditionParser {
    private let bytes: [UInt8]
    private var next = 0
    private var depth = 0
    private(set) var topics: [String] = []
    private(set) var isNegating = false

    init(_ text: String) {
        bytes = Array(text.utf8)
    }

    mutating func whole() -> Condition.Node? {
        guard let node = chain() else { return nil }
        skipSpace()
        return next == bytes.count ? node : nil
    }

    private mutating func chain() -> Condition.Node? {
        guard var node = atom() else { return nil }
        while true {
            if consume("&&") {
                guard let right = atom() else { return nil }
                node = .both(node, right)
            } else if consume("||") {
                guard let right = atom() else { return nil }
                node = .either(node, right)
            } else {
                return node
            }
        }
    }

    private mutating func atom() -> Condition.Node? {
        guard depth < 16 else { return nil }
        depth += 1
        defer { depth -= 1 }
        if consume("!") {
            isNegating = true
            return atom().map(Condition.Node.not)
        }
        if consume("(") {
            guard let inner = chain(), consume(")") else { return nil }
            return inner
        }
        guard consume("'") else { return nil }
        let start = next
        while next < bytes.count, bytes[next] != UInt8(ascii: "'") { next += 1 }
        let name = String(decoding: bytes[start..<next], as: UTF8.self)
        guard next < bytes.count, Recipients.isTopic(name) else { return nil }
        next += 1
        guard consume("in"), consume("topics") else { return nil }
        topics.append(name)
        return topics.count <= Condition.maximumTopics ? .topic(name) : nil
    }

    private mutating func consume(_ word: String) -> Bool {
        skipSpace()
        let found = bytes[next...].prefix(word.utf8.count)
        guard String(decoding: found, as: UTF8.self).lowercased() == word else { return false }
        next += found.count
        return true
    }

    private mutating func skipSpace() {
        while next < bytes.count, bytes[next] == 0x20 || bytes[next] == 0x09 { next += 1 }
    }
}
