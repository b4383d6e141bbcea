internal import FanfareConfiguration

/// Masks secrets in the argument parser's error messages, which repeat words of the command line unchanged.
enum ArgumentMask {
    /// - Parameter arguments: all words of the line.
    static func masked(_ complaint: String, arguments: [String]) -> String {
        // The parser takes a word apart at its first equals sign.
        var secrets: [(text: String, mask: String)] = []
        for argument in arguments {
            let sides = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            // The name is a part of what was copied out of a file, or it is an option's.
            for text in [argument] + (ConfiguredFile.isContent(argument) ? sides : Array(sides.dropFirst())) {
                if let mask = mask(for: text) ?? mask(for: argument) { secrets.append((text, mask)) }
            }
        }
        var result = complaint
        for (text, mask) in secrets.sorted(by: { $0.text.utf8.count > $1.text.utf8.count })
        where text.utf8.count >= shortest {
            result = result.replacing(text, with: mask)
        }
        return result
    }

    /// Shorter pieces are not masked: they occur in the parser's own words, and are no secrets.
    private static let shortest = 8

    /// The replacement for a word that holds a secret; nil for any other word.
    private static func mask(for word: String) -> String? {
        if ConfiguredFile.isContent(word) { return "[the content of a file]" }
        let bytes = Array(word.utf8)
        if let password = ProcessProtection.passwordRange(in: bytes) {
            return String(decoding: bytes[..<password.lowerBound], as: UTF8.self) + "…"
                + String(decoding: bytes[password.upperBound...], as: UTF8.self)
        }
        let masked = TokenMask.masked(word)
        return masked == word ? nil : masked
    }
}
