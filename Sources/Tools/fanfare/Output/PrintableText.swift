/// Text that others wrote, made fit for a terminal and for a log that is read line by line.
enum PrintableText {
    /// Line and paragraph separators, and what changes the direction of writing, look like nothing or like something else.
    private static let deceiving: Set<UInt32> = [0x061C, 0x200E, 0x200F, 0x2028, 0x2029]

    /// What a terminal might obey, or what might look like another line.
    static func isUnsafe(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.generalCategory == .control || deceiving.contains(scalar.value)
            || (0x202A...0x202E).contains(scalar.value) || (0x2066...0x2069).contains(scalar.value)
    }

    /// With every unsafe character as `\u00XX`, which is what JSON would write for it too: escaping a line of JSON changes
    /// nothing of what it says.
    ///
    /// - Parameter keepingLines: line feeds and tabs stay.
    static func escaped(_ text: String, keepingLines: Bool) -> String {
        guard text.unicodeScalars.contains(where: isUnsafe) else { return text }
        var result = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            if !isUnsafe(scalar) || (keepingLines && (scalar == "\n" || scalar == "\t")) {
                result.append(scalar)
            } else {
                let digits = String(scalar.value, radix: 16)
                result.append(contentsOf: "\\u".unicodeScalars)
                result.append(contentsOf: String(repeating: "0", count: max(0, 4 - digits.count)).unicodeScalars)
                result.append(contentsOf: digits.unicodeScalars)
            }
        }
        return String(result)
    }

    /// In one line, cut to so many characters.
    static func line(_ text: String, limit: Int) -> String {
        let text = escaped(text, keepingLines: false)
        return text.unicodeScalars.count > limit ? String(text.unicodeScalars.prefix(limit)) + "…" : text
    }
}
