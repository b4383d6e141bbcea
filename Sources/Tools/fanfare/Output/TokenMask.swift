/// Masks secrets in any text by their shape: registration tokens, OAuth access tokens, signed assertions, server keys,
/// private keys, and passwords in URLs.
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
        // Runs of the characters that occur in tokens and keys.
        return withoutPassword(text.replacing(/[A-Za-z0-9\-_.:~+=]+/) { shortened($0.output) })
    }

    private static func shortened(_ run: Substring) -> String {
        guard isSecret(run) else { return String(run) }
        return "\(run.prefix(shown))…[\(run.count) characters]"
    }

    private static func isSecret(_ run: Substring) -> Bool {
        run.count > longest || run.contains(":APA91b") || run.hasPrefix("ya29.")
            || (run.hasPrefix("AIza") && run.count >= 35)
            || (run.hasPrefix("eyJ") && run.count > 40 && run.contains("."))
    }

    /// `redis://user:password@host` without the password.
    private static func withoutPassword(_ text: String) -> String {
        text.replacing(/(:\/\/[^\s\/?":]*:)[^\s\/?"]*@/) { "\($0.1)…@" }
    }
}
