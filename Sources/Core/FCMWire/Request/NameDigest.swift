internal import FanfareModel

/// Names derived from job ids and collapse keys. No secret passes through it.
enum NameDigest {
    /// The first 16 bytes of the text's SHA-256 as 32 lower-case hexadecimal digits: fits `apns-collapse-id`, a web push
    /// `Topic` and a notification tag alike.
    static func name32(_ text: String) -> String {
        let words = SHA256.hash(Array(text.utf8)).prefix(4)
        return words.flatMap { word in [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: word >> $0) } }.hexadecimal
    }
}
