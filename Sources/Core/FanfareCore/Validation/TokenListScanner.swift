internal import FanfareJSON
internal import FanfareModel

/// Reads a JSON array of tokens in one pass, without a tree of values: an entry may hold a million.
struct TokenListScanner {
    private let field: String
    private let bytes: [UInt8]
    private var next = 0

    init(field: String, bytes: [UInt8]) {
        self.field = field
        self.bytes = bytes
    }

    mutating func scan() throws(EntryFault) -> RecipientList {
        skipSpace()
        guard next < bytes.count else { throw broken("the text ends where an array should be") }
        guard consume("[") else {
            throw kindOfValue().map { EntryFault(field, "must be an array, not \($0)") } ?? broken("expected an array")
        }
        skipSpace()
        if consume("]") { throw EntryFault(field, "empty, at least 1") }
        // Tokens are not copied: a second copy of an entry of many megabytes costs more than this scan.
        var tokens = RecipientList(within: bytes)
        while true {
            skipSpace()
            try readToken(into: &tokens)
            skipSpace()
            if consume(",") { continue }
            guard consume("]") else { throw broken("missing comma or closing bracket in an array") }
            break
        }
        skipSpace()
        guard next == bytes.count else { throw broken("unexpected text after the value") }
        return tokens
    }

    private mutating func readToken(into tokens: inout RecipientList) throws(EntryFault) {
        guard consume("\"") else {
            guard next < bytes.count else { throw broken("the text ends where a string should be") }
            guard let kind = kindOfValue() else { throw broken("unexpected character where a value should be") }
            throw EntryFault("\(field)[\(tokens.count)]", "must be a string, not \(kind)")
        }
        let start = next
        next = RecipientRules.endOfToken(in: bytes, from: start)
        // A plain token of legal length: the only case that has to be fast.
        if next < bytes.count, bytes[next] == UInt8(ascii: "\""), next > start,
            next - start <= RecipientRules.tokenLength
        {
            tokens.append(start..<next)
            next += 1
            return
        }
        let text = try readString(from: start - 1)
        try RecipientRules.checkToken(Array(text.utf8), at: "\(field)[\(tokens.count)]")
        tokens.append(text)
    }

    /// The string literal that opens at `start`, escapes resolved; `next` moves past it.
    private mutating func readString(from start: Int) throws(EntryFault) -> String {
        next = start + 1
        while next < bytes.count, bytes[next] != UInt8(ascii: "\"") {
            next += bytes[next] == UInt8(ascii: "\\") ? 2 : 1
        }
        guard next < bytes.count else {
            next = bytes.count
            throw broken("the text ends within a string")
        }
        next += 1
        do throws(JSONError) {
            return try JSONParser.parse(bytes[start..<next]).string ?? ""
        } catch {
            next = start + error.offset
            throw broken(error.reason)
        }
    }

    /// The kind of the value at `next`, by its first byte; nil if it is no value.
    private func kindOfValue() -> String? {
        guard next < bytes.count else { return nil }
        switch bytes[next] {
        case UInt8(ascii: "\""): return "a string"
        case UInt8(ascii: "["): return "an array"
        case UInt8(ascii: "{"): return "an object"
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return "a number"
        default:
            let rest = bytes[next...]
            if rest.starts(with: Array("true".utf8)) || rest.starts(with: Array("false".utf8)) { return "a boolean" }
            return rest.starts(with: Array("null".utf8)) ? "null" : nil
        }
    }

    private mutating func skipSpace() {
        while next < bytes.count {
            switch bytes[next] {
            case 0x20, 0x0A, 0x0D, 0x09: next += 1
            default: return
            }
        }
    }

    private mutating func consume(_ character: Unicode.Scalar) -> Bool {
        guard next < bytes.count, bytes[next] == UInt8(ascii: character) else { return false }
        next += 1
        return true
    }

    private func broken(_ rule: String) -> EntryFault {
        EntryFault(field, "not JSON at byte \(next): \(rule)")
    }
}
