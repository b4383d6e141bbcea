/// The header `Idempotency-Key`, which is the id of a request's job.
public enum IdempotencyKey {
    /// The id without the pair of double quotes that a draft of the header's specification puts around it.
    public static func id(_ header: String) -> String {
        let isQuoted = header.utf8.count >= 2 && header.hasPrefix("\"") && header.hasSuffix("\"")
        return isQuoted ? String(header.dropFirst().dropLast()) : header
    }
}
