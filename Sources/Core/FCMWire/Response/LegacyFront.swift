internal import FanfareJSON

/// The complete results at the front of a legacy answer's body that was cut short or is malformed.
///
/// A result counts when its closing brace has arrived and its text is valid JSON. The first byte that breaks the
/// grammar ends the front.
struct LegacyFront {
    /// The results, in the order of the request.
    private(set) var results: [LegacyAnswer.Entry] = []
    /// Whether the end of the array was read, so that no result is missing.
    private(set) var isWhole = false

    private var scanner: JSONScanner

    init(_ body: [UInt8]) {
        scanner = JSONScanner(bytes: body, maximumDepth: JSONLimits().maximumDepth)
        // What was read before the fault counts.
        try? read()
    }

    private mutating func read() throws(JSONError) {
        guard pass("{") else { return }
        repeat {
            guard let key = try value()?.string, pass(":") else { return }
            if key == "results" { return try readResults() }
            guard try value() != nil else { return }
        } while pass(",")
    }

    private mutating func readResults() throws(JSONError) {
        guard pass("[") else { return }
        if pass("]") {
            isWhole = true
            return
        }
        repeat {
            guard let entry = try value() else { return }
            results.append(LegacyAnswer.entry(entry.object))
        } while pass(",")
        isWhole = pass("]")
    }

    /// Reads the next complete value. A number or a word ends with the byte that follows it, and is nil without that
    /// byte: more digits may have been cut off.
    private mutating func value() throws(JSONError) -> JSONValue? {
        scanner.skipSpace()
        let value = try scanner.value()
        switch value {
        case .string, .array, .object: return value
        case .null, .bool, .number: return scanner.nextByte.flatMap { ",]} \t\n\r".utf8.contains($0) ? value : nil }
        }
    }

    private mutating func pass(_ character: Unicode.Scalar) -> Bool {
        scanner.skipSpace()
        return scanner.skip(character)
    }
}
