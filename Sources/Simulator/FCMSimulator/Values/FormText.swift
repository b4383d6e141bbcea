import FanfareModel

/// Reads `application/x-www-form-urlencoded`: the bodies of forms and the queries of addresses.
enum FormText {
    /// A message of 4,096 bytes has fewer pairs: each has at least one byte of key.
    private static let maximumPairs = 5_000

    /// nil when an escape is broken or the text has more than ``maximumPairs``.
    static func pairs(_ bytes: [UInt8]) -> [(name: String, value: String)]? {
        let parts = bytes.split(separator: UInt8(ascii: "&"))
        guard parts.count <= maximumPairs else { return nil }
        var result: [(name: String, value: String)] = []
        for part in parts {
            let halves = part.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = decoded(halves[0]), let value = decoded(halves.count > 1 ? halves[1] : []) else {
                return nil
            }
            result.append((name, value))
        }
        return result
    }

    /// The value of the last pair of that name; nil without one.
    static func value(_ name: String, in query: String) -> String? {
        pairs(Array(query.utf8))?.last { $0.name == name }?.value
    }

    /// Decodes one segment of a path; nil for an empty segment, a broken escape, or the `&` and `=` of a query.
    static func unescaped(_ segment: Substring) -> String? {
        guard !segment.isEmpty, !segment.utf8.contains(where: { $0 == UInt8(ascii: "&") || $0 == UInt8(ascii: "=") })
        else { return nil }
        return PercentDecoding.bytes(of: segment.utf8).map { String(decoding: $0, as: UTF8.self) }
    }

    private static func decoded(_ bytes: ArraySlice<UInt8>) -> String? {
        PercentDecoding.bytes(of: bytes, plusIsSpace: true).map { String(decoding: $0, as: UTF8.self) }
    }
}
