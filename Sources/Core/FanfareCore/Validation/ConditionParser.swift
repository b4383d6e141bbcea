internal import FanfareModel

extension ConditionLimits {
    /// For a condition that has passed validation.
    static let none = ConditionLimits()

    /// Bytes, far above what a condition within the other limits needs.
    static let length = 8_192
    static let depth = 16
}

/// Reads a topic condition: `'a' in topics && ('b' in topics || 'c' in topics)`, key words in any case.
///
/// ```
/// condition = term *( ( "&&" / "||" ) term )
/// term      = "(" condition ")" / "'" name "'" "in" "topics"
/// ```
///
/// FCM evaluates from left to right without precedence. A condition is sent as it was written, but for line breaks, which
/// are white space and become blanks.
struct ConditionParser {
    private static let path = EntryField.condition.rawValue

    private let bytes: [UInt8]
    private let limits: ConditionLimits
    private var next = 0
    private var depth = 0
    private var operators = 0
    private(set) var topics: [String] = []
    /// Topics and operators in postfix order.
    private(set) var steps: [AudienceFormula.Step] = []

    init(_ bytes: [UInt8], limits: ConditionLimits) {
        self.bytes = bytes
        self.limits = limits
    }

    /// - Returns: the condition as FCM reads it.
    static func check(_ bytes: [UInt8], limits: ConditionLimits) throws(EntryFault) -> String {
        var parser = ConditionParser(bytes, limits: limits)
        try parser.parse()
        return String(decoding: bytes.map { Self.isLineBreak($0) ? 0x20 : $0 }, as: UTF8.self)
    }

    mutating func parse() throws(EntryFault) {
        let (count, most) = (bytes.count, ConditionLimits.length)
        try require(count <= most, Self.path, "\(count) bytes, at most \(most)")
        skipSpace()
        try require(next < bytes.count, Self.path, "empty")
        try readCondition()
        guard next == bytes.count else { throw expected("&& or ||") }
        try require(operators <= limits.operators, Self.path, "\(operators) operators, at most \(limits.operators)")
        try require(topics.count <= limits.topics, Self.path, "\(topics.count) topics, at most \(limits.topics)")
    }

    private mutating func readCondition() throws(EntryFault) {
        try readTerm()
        while let step = readOperator() {
            operators += 1
            try readTerm()
            steps.append(step)
        }
    }

    private mutating func readTerm() throws(EntryFault) {
        skipSpace()
        if consume("(") {
            let most = ConditionLimits.depth
            try require(depth < most, Self.path, "nested deeper than \(most) levels")
            depth += 1
            try readCondition()
            depth -= 1
            guard consume(")") else { throw expected("&&, || or )") }
            skipSpace()
            return
        }
        if next < bytes.count, bytes[next] == UInt8(ascii: "!") {
            throw fault(
                "! at byte \(next): FCM no longer documents negation; subscribe the others to a topic of their own"
            )
        }
        guard consume("'") else { throw expected("( or a topic in single quotes") }
        let name = try readName()
        topics.append(name)
        steps.append(.topic(name))
        skipSpace()
        try consumeWord("in")
        skipSpace()
        try consumeWord("topics")
        skipSpace()
    }

    private mutating func readName() throws(EntryFault) -> String {
        let start = next
        guard let end = bytes[start...].firstIndex(of: UInt8(ascii: "'")) else {
            throw fault("the quote at byte \(start - 1) is not closed")
        }
        do throws(EntryFault) {
            try RecipientRules.checkTopicName(bytes[start..<end], at: "topic at byte \(start)")
        } catch {
            throw fault(error.reason)
        }
        next = end + 1
        return String(decoding: bytes[start..<end], as: UTF8.self)
    }

    private mutating func consumeWord(_ word: String) throws(EntryFault) {
        let end = next + word.utf8.count
        guard end <= bytes.count, zip(bytes[next..<end], word.utf8).allSatisfy({ $0 | 0x20 == $1 }),
            end == bytes.count || !RecipientRules.isTopicByte(bytes[end])
        else { throw expected(word) }
        next = end
    }

    private mutating func readOperator() -> AudienceFormula.Step? {
        guard bytes.count - next >= 2, bytes[next] == bytes[next + 1],
            bytes[next] == UInt8(ascii: "&") || bytes[next] == UInt8(ascii: "|")
        else { return nil }
        let step: AudienceFormula.Step = bytes[next] == UInt8(ascii: "&") ? .minimum : .sum
        next += 2
        return step
    }

    private mutating func consume(_ character: Unicode.Scalar) -> Bool {
        guard next < bytes.count, bytes[next] == UInt8(ascii: character) else { return false }
        next += 1
        return true
    }

    private mutating func skipSpace() {
        while next < bytes.count, bytes[next] == 0x20 || bytes[next] == 0x09 || Self.isLineBreak(bytes[next]) {
            next += 1
        }
    }

    private static func isLineBreak(_ byte: UInt8) -> Bool { byte == 0x0A || byte == 0x0D }

    private func expected(_ what: String) -> EntryFault {
        fault("expected \(what) at byte \(next)")
    }

    private func fault(_ rule: String) -> EntryFault {
        EntryFault(Self.path, rule)
    }
}
