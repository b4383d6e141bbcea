internal import Crypto

/// Names derived from job ids and collapse keys. No secret passes through it.
enum NameDigest {
    /// The first 16 bytes of the text's SHA-256 as 32 lower-case hexadecimal digits: fits `apns-collapse-id`, a web push
    /// `Topic` and a notification tag alike.
    static func name32(_ text: String) -> String {
        let digits = Array("0123456789abcdef".utf8)
        let digest = SHA256.hash(data: Array(text.utf8)).prefix(16)
        return String(decoding: digest.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}
