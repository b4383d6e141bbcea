/// Names derived from job ids and collapse keys. No secret passes through it.
enum NameDigest {
    /// The first 16 bytes of the text's SHA-256 as 32 lower-case hexadecimal digits: fits `apns-collapse-id`, a web push
    /// `Topic` and a notification tag alike.
    static func name32(_ text: String) -> String {
        let digits = Array("0123456789abcdef".utf8)
        let words = SHA256.hash(Array(text.utf8)).prefix(4)
        let name = words.flatMap { word in
            stride(from: 28, through: 0, by: -4).map { digits[Int(word >> UInt32($0) & 15)] }
        }
        return String(decoding: name, as: UTF8.self)
    }
}
