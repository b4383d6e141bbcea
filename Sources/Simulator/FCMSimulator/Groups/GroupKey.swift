internal import FanfareModel

/// The keys of a group. FCM answers with another key each time and all of them stay valid, so a key carries the group's
/// number in disguise instead of being stored.
enum GroupKey {
    private static let prefix = "APA91b"
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
    /// Characters of 64 bits.
    private static let width = 11

    /// - Parameter nonce: makes this key look different from the last.
    static func make(id: UInt64, nonce: UInt64, secret: UInt64) -> String {
        let masked = id ^ mix(nonce ^ secret)
        return prefix + text(nonce) + text(masked) + text(check(nonce, masked, secret))
    }

    /// The group's number; nil for a text that was not made with this secret.
    static func id(in key: String, secret: UInt64) -> UInt64? {
        guard key.utf8.count == prefix.utf8.count + 3 * width, key.hasPrefix(prefix) else { return nil }
        let digits = Array(key.utf8.dropFirst(prefix.utf8.count))
        guard let nonce = number(digits[..<width]), let masked = number(digits[width..<2 * width]),
            let given = number(digits[(2 * width)...]), given == check(nonce, masked, secret)
        else { return nil }
        return masked ^ mix(nonce ^ secret)
    }

    private static func check(_ nonce: UInt64, _ masked: UInt64, _ secret: UInt64) -> UInt64 {
        mix(mix(nonce &+ secret) ^ masked)
    }

    private static func text(_ number: UInt64) -> String {
        let digits = (0..<width).map { alphabet[Int(number >> (6 * UInt64($0)) & 63)] }
        return String(decoding: digits, as: UTF8.self)
    }

    private static func number(_ digits: ArraySlice<UInt8>) -> UInt64? {
        var number: UInt64 = 0
        for (index, digit) in digits.enumerated() {
            guard let value = alphabet.firstIndex(of: digit) else { return nil }
            // The last digit holds four bits: with more set, two texts would be one number.
            guard index < width - 1 || value < 16 else { return nil }
            number |= UInt64(value) << (6 * UInt64(index))
        }
        return number
    }

    private static func mix(_ value: UInt64) -> UInt64 {
        var stream = SplitMix64(seed: value)
        return stream.next()
    }
}
