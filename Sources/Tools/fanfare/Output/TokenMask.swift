internal import FanfareCore

/// Masks secrets in any text by their shape: registration tokens, OAuth access tokens, signed assertions, server keys,
/// keys of the gateway, private keys, and passwords in URLs.
///
/// A last defence for logs: no code logs a token, but a peer may repeat one in its error. Other text of the same shape
/// is cut too.
enum TokenMask {
    /// Longer words are masked. The longest harmless word is a job's id, which has at most 128 characters.
    private static let longest = 128
    /// Characters of a secret that stay visible.
    private static let shown = 6

    static func masked(_ text: String) -> String {
        if text.contains("PRIVATE KEY") { return "[masked]" }
        var result = ""
        var end = text.startIndex
        for run in text.split(whereSeparator: { !isPart($0) }) where isSecret(run) {
            result += text[end..<run.startIndex] + "\(run.prefix(shown))…[\(run.count) characters]"
            end = run.endIndex
        }
        return withoutPassword(result + text[end...])
    }

    /// Whether a character occurs in tokens and keys.
    private static func isPart(_ character: Character) -> Bool {
        character.isASCII && (character.isLetter || character.isNumber || "-_.:~+=".contains(character))
    }

    private static func isSecret(_ run: Substring) -> Bool {
        run.count > longest || run.contains(":APA91b") || run.hasPrefix("ya29.")
            || (run.hasPrefix("AIza") && run.count >= 35) || (run.contains(GatewayKey.prefix) && run.count >= 40)
            || (run.hasPrefix("eyJ") && run.count > 40 && run.contains("."))
    }

    /// `redis://user:password@host` without the password.
    private static func withoutPassword(_ text: String) -> String {
        guard text.contains("://") else { return text }
        return text.replacing(/(:\/\/[^\s\/?":]*:)[^\s\/?"]*@/) { "\($0.1)…@" }
    }
}
