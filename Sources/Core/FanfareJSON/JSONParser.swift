/// A strict RFC 8259 reader: one value, nothing after it but white space, UTF-8 without a byte order mark, no lone
/// surrogates, no leading zeros, no comments. Recursion is bounded by the depth limit.
public enum JSONParser {
    public static func parse(
        _ bytes: some Collection<UInt8>,
        limits: JSONLimits = JSONLimits()
    ) throws(JSONError) -> JSONValue {
        guard bytes.count <= limits.maximumBytes else {
            throw JSONError(reason: "\(bytes.count) bytes, at most \(limits.maximumBytes)", offset: limits.maximumBytes)
        }
        var scanner = JSONScanner(bytes: Array(bytes), maximumDepth: limits.maximumDepth)
        return try scanner.document()
    }
}

/// The grammar, one method per rule, for texts that may be cut short. ``JSONParser`` reads whole ones.
public struct JSONScanner {
    package let bytes: [UInt8]
    /// The first byte not yet read; never beyond the end.
    package internal(set) var next: Int
    /// Neither white space outside strings nor an escape was read since this was last set.
    package var isCompact = true
    private let start: Int
    /// The index after the text's last byte.
    let end: Int
    private let maximumDepth: Int
    private var depth = 0

    /// - Parameter maximumDepth: how many arrays and objects may be open at once.
    public init(bytes: [UInt8], maximumDepth: Int) {
        self.init(bytes: bytes, range: bytes.indices, maximumDepth: maximumDepth)
    }

    /// Reads one part of a larger text, without a copy. Offsets of errors count from the start of that part.
    ///
    /// - Parameters:
    ///   - range: the part, within `bytes`.
    ///   - maximumDepth: how many arrays and objects may be open at once.
    package init(bytes: [UInt8], range: Range<Int>, maximumDepth: Int) {
        precondition(range.lowerBound >= 0 && range.upperBound <= bytes.count, "the part is not within the text")
        self.bytes = bytes
        (start, next, end) = (range.lowerBound, range.lowerBound, range.upperBound)
        self.maximumDepth = maximumDepth
    }

    mutating func document() throws(JSONError) -> JSONValue {
        skipSpace()
        let value = try value()
        try finish()
        return value
    }

    /// Skips white space up to the end of the text.
    package mutating func finish() throws(JSONError) {
        skipSpace()
        guard next == end else { throw error("unexpected text after the value") }
    }

    /// The next byte; nil at the end.
    public var nextByte: UInt8? { next < end ? bytes[next] : nil }

    /// Reads a value. At the end of a cut text a number may lack digits.
    public mutating func value() throws(JSONError) -> JSONValue {
        guard next < end else { throw error("the text ends where a value should be") }
        switch bytes[next] {
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "{"): return .object(try object())
        case UInt8(ascii: "["): return .array(try array())
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return .number(try number())
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        default: throw error("unexpected character where a value should be")
        }
    }

    private mutating func object() throws(JSONError) -> JSONObject {
        try enter()
        var members: [JSONObject.Member] = []
        while try findMember(isFirst: members.isEmpty) {
            let key = try string()
            try skipColon()
            members.append(JSONObject.Member(key: key, value: try value()))
        }
        return JSONObject(members)
    }

    private mutating func array() throws(JSONError) -> [JSONValue] {
        try enter()
        var elements: [JSONValue] = []
        while try findElement(isFirst: elements.isEmpty) { elements.append(try value()) }
        return elements
    }

    /// Moves to the quote before the next member's name; false after the closing brace.
    package mutating func findMember(isFirst: Bool) throws(JSONError) -> Bool {
        guard try findPart(isFirst: isFirst, closing: "}", "missing comma or closing brace in an object") else {
            return false
        }
        guard next < end, bytes[next] == UInt8(ascii: "\"") else {
            throw error("an object's member must start with a name in double quotes")
        }
        return true
    }

    /// Moves to the next element; false after the closing bracket.
    package mutating func findElement(isFirst: Bool) throws(JSONError) -> Bool {
        try findPart(isFirst: isFirst, closing: "]", "missing comma or closing bracket in an array")
    }

    private mutating func findPart(isFirst: Bool, closing: Unicode.Scalar, _ reason: String) throws(JSONError) -> Bool {
        skipSpace()
        guard isFirst || !skip(",") else {
            skipSpace()
            return true
        }
        if skip(closing) {
            depth -= 1
            return false
        }
        guard isFirst else { throw error(reason) }
        return true
    }

    /// Moves from the end of a name to its value.
    package mutating func skipColon() throws(JSONError) {
        skipSpace()
        guard skip(":") else { throw error("missing colon after a name") }
        skipSpace()
    }

    /// Moves past the opening bracket or brace of an array or object.
    package mutating func enter() throws(JSONError) {
        guard depth < maximumDepth else { throw error("nested deeper than \(maximumDepth) levels") }
        depth += 1
        next += 1
    }

    private mutating func number() throws(JSONError) -> JSONNumber {
        let start = next
        try skipNumber()
        return JSONNumber(checked: String(decoding: bytes[start..<next], as: UTF8.self))
    }

    mutating func skipNumber() throws(JSONError) {
        _ = skip("-")
        if skip("0") {
            if next < end, isDigit(bytes[next]) { throw error("a number must not start with a zero") }
        } else {
            try digits()
        }
        if skip(".") { try digits() }
        if skip("e") || skip("E") {
            if !skip("+") { _ = skip("-") }
            try digits()
        }
    }

    /// One or more digits.
    private mutating func digits() throws(JSONError) {
        let start = next
        while next < end, isDigit(bytes[next]) { next += 1 }
        guard next > start else { throw error("missing digit in a number") }
    }

    private mutating func word(_ word: StaticString, _ value: JSONValue) throws(JSONError) -> JSONValue {
        let expected = Array(word.description.utf8)
        guard bytes[next..<end].starts(with: expected) else {
            throw error("unexpected character where a value should be")
        }
        next += expected.count
        return value
    }

    public mutating func skipSpace() {
        while next < end {
            switch bytes[next] {
            case 0x20, 0x0A, 0x0D, 0x09:
                next += 1
                isCompact = false
            default: return
            }
        }
    }

    /// Skips the character; false if another one is next.
    public mutating func skip(_ character: Unicode.Scalar) -> Bool {
        guard next < end, bytes[next] == UInt8(ascii: character) else { return false }
        next += 1
        return true
    }

    private func isDigit(_ byte: UInt8) -> Bool {
        byte &- UInt8(ascii: "0") <= 9
    }

    func error(_ reason: String, at index: Int? = nil) -> JSONError {
        JSONError(reason: reason, offset: (index ?? next) - start)
    }
}
