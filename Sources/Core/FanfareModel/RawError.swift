/// Cleans and bounds a peer's error text, so that it can be stored.
public enum RawError {
    /// The most bytes kept.
    public static let maximumBytes = 200

    /// The text without blanks around it, control characters (C0, DEL, C1) as `?`, cut at a character's edge to
    /// ``maximumBytes`` bytes. Bytes that are not UTF-8 become U+FFFD.
    public static func clean(_ bytes: some Collection<UInt8>) -> String {
        // A peer may answer with megabytes: only the part that can be kept is read, and more for leading blanks.
        let scalars = String(decoding: bytes.prefix(4 * maximumBytes), as: UTF8.self).unicodeScalars
        var text = ""
        var used = 0
        // Trailing blanks are dropped first: a line feed among them would become a question mark.
        guard let end = scalars.lastIndex(where: { !$0.properties.isWhitespace }) else { return "" }
        for scalar in scalars.prefix(through: end).drop(while: { $0.properties.isWhitespace }) {
            let kept: Unicode.Scalar = isControl(scalar) ? "?" : scalar
            let width = UTF8.width(kept)
            guard used + width <= maximumBytes else { break }
            text.unicodeScalars.append(kept)
            used += width
        }
        return text
    }

    public static func clean(_ text: String) -> String { clean(text.utf8) }

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value)
    }
}
