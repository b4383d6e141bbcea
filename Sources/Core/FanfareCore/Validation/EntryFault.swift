/// The first rule that an entry breaks. Its text is written to `dead` and to the job hash.
public struct EntryFault: Error, Equatable, Sendable {
    /// The field, as the producer wrote it, such as `tokens[17]` or `message.android.ttl`.
    public let path: String
    public let rule: String
    /// The byte of the field's value at which its JSON breaks; nil for any other rule.
    public let offset: Int?

    public init(_ path: String, _ rule: String, offset: Int? = nil) {
        self.path = path
        self.rule = rule
        self.offset = offset
    }

    public var reason: String { "\(path): \(rule)" }
}

/// Throws a fault unless the rule is kept.
func require(_ isKept: Bool, _ path: @autoclosure () -> String, _ rule: @autoclosure () -> String) throws(EntryFault) {
    guard isKept else { throw EntryFault(path(), rule()) }
}

/// Excerpts of a producer's text that are safe in errors and logs: short, on one line, without invisible characters.
public enum Excerpt {
    /// Characters at most; a token never fits.
    public static let limit = 40

    /// For values: in quotes.
    static func quoted(_ text: some StringProtocol) -> String {
        "\"\(plain(text))\""
    }

    /// For values that have not been checked to be UTF-8.
    static func quoted(_ bytes: some Collection<UInt8>) -> String {
        // A scalar has at most 4 bytes, so this many bytes always hold more scalars than are shown.
        quoted(String(decoding: bytes.prefix((limit + 1) * 4), as: UTF8.self))
    }

    /// For names within a path.
    public static func plain(_ text: some StringProtocol) -> String {
        var result = ""
        for (index, scalar) in text.unicodeScalars.enumerated() {
            guard index < limit else { return result + "…" }
            if isVisible(scalar) {
                result.unicodeScalars.append(scalar)
            } else {
                result += "\\u{\(String(scalar.value, radix: 16))}"
            }
        }
        return result
    }

    private static func isVisible(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned: return false
        default: return true
        }
    }
}
