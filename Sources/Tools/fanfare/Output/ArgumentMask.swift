internal import FanfareConfiguration

/// Masks secrets in the argument parser's error messages, which repeat arguments unchanged.
enum ArgumentMask {
    /// - Parameter arguments: all arguments of the command line.
    static func masked(_ message: String, arguments: [String]) -> String {
        // The parser splits an argument at its first equals sign.
        var secrets: [(text: String, mask: String)] = []
        for argument in arguments {
            let sides = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            // The left side is a part of a file's content, or the name of an option.
            for text in [argument] + (ConfiguredFile.isContent(argument) ? sides : Array(sides.dropFirst())) {
                if let mask = mask(for: text) ?? mask(for: argument) { secrets.append((text, mask)) }
            }
        }
        var result = message
        for (text, mask) in secrets.sorted(by: { $0.text.utf8.count > $1.text.utf8.count })
        where text.utf8.count >= shortest {
            result = result.replacing(text, with: mask)
        }
        return result
    }

    /// Shorter texts are not masked: they are no secrets, and occur in the parser's own words.
    private static let shortest = 8

    /// The replacement for an argument that holds a secret; nil for any other argument.
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
