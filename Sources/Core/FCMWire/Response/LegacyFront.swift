internal import FanfareJSON

/// The complete results at the front of a legacy answer's body that was cut short or is malformed.
///
/// A result counts when its closing brace has arrived and its text is valid JSON. The first byte that breaks the grammar
/// ends the front.
struct LegacyFront {
    /// The results, in the order of the request.
    private(set) var results: [LegacyAnswer.Entry] = []
    /// Whether the end of the array was read, so that no result is missing.
    private(set) var isWhole = false

    private let body: [UInt8]
    private var next = 0

    init(_ body: [UInt8]) {
        self.body = body
        read()
    }

    private mutating func read() {
        guard pass("{") else { return }
        repeat {
            guard let key = value()?.string, pass(":") else { return }
            if key == "results" { return readResults() }
            guard value() != nil else { return }
        } while pass(",")
    }

    private mutating func readResults() {
        guard pass("[") else { return }
        if pass("]") {
            isWhole = true
            return
        }
        repeat {
            guard let entry = value() else { return }
            results.append(LegacyAnswer.entry(entry.object))
        } while pass(",")
        isWhole = pass("]")
    }

    /// Reads the next complete value; nil if the body ends within it, or it is not JSON.
    private mutating func value() -> JSONValue? {
        skipSpace()
        guard let end = endOfValue(), let value = try? JSONParser.parse(body[next..<end]) else { return nil }
        next = end
        return value
    }

    /// The index behind the value that begins at `next`. A number or a word ends with the byte that follows it: without
    /// that byte, more digits may have been cut off.
    private func endOfValue() -> Int? {
        var (at, depth, isInString) = (next, 0, false)
        while at < body.count {
            let byte = body[at]
            at += 1
            if isInString {
                if byte == UInt8(ascii: "\\") { at += 1 }
                guard byte == UInt8(ascii: "\"") else { continue }
                isInString = false
                if depth == 0 { return at }
                continue
            }
            switch byte {
            case UInt8(ascii: "\""): isInString = true
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                if depth == 0 { return at - 1 }
                depth -= 1
                if depth == 0 { return at }
            case UInt8(ascii: ","), 0x20, 0x09, 0x0A, 0x0D:
                if depth == 0 { return at - 1 }
            default: break
            }
        }
        return nil
    }

    private mutating func pass(_ character: Unicode.Scalar) -> Bool {
        skipSpace()
        guard next < body.count, body[next] == UInt8(ascii: character) else { return false }
        next += 1
        return true
    }

    private mutating func skipSpace() {
        while next < body.count, [0x20, 0x09, 0x0A, 0x0D].contains(body[next]) { next += 1 }
    }
}
