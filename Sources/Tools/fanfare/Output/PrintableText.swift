/// Escapes text from outside for terminals and line-based logs.
enum PrintableText {
    /// Line and paragraph separators and directional marks, which are invisible or change how text looks.
    private static let deceiving: Set<UInt32> = [0x061C, 0x200E, 0x200F, 0x2028, 0x2029]

    /// Whether a character can control a terminal or fake a line.
    static func isUnsafe(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.generalCategory == .control || deceiving.contains(scalar.value)
            || (0x202A...0x202E).contains(scalar.value) || (0x2066...0x2069).contains(scalar.value)
    }

    /// Escapes every unsafe character as `\uXXXX`, as JSON does: an escaped line of JSON keeps its meaning.
    ///
    /// - Parameter keepingLines: keeps line feeds and tabs.
    static func escaped(_ text: String, keepingLines: Bool) -> String {
        guard text.unicodeScalars.contains(where: isUnsafe) else { return text }
        var result = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            if !isUnsafe(scalar) || (keepingLines && (scalar == "\n" || scalar == "\t")) {
                result.append(scalar)
            } else {
                let digits = String(scalar.value, radix: 16)
                let zeros = String(repeating: "0", count: max(0, 4 - digits.count))
                result.append(contentsOf: "\\u\(zeros)\(digits)".unicodeScalars)
            }
        }
        return String(result)
    }

    /// The text in one line, cut to `limit` characters.
    static func line(_ text: String, limit: Int) -> String {
        let text = escaped(text, keepingLines: false)
        return text.unicodeScalars.count > limit ? String(text.unicodeScalars.prefix(limit)) + "…" : text
    }
}
