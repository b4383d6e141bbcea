internal import FanfareModel

/// What may stand in a request where a key is made of it.
enum Identifiers {
    static func isJob(_ text: String) -> Bool {
        (1...128).contains(text.utf8.count)
            && text.utf8.allSatisfy { $0.isASCIIDigit || isLower($0) || isUpper($0) || ".-_:".utf8.contains($0) }
    }

    /// A stream's entry.
    static func isEntry(_ text: String) -> Bool {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        return parts.count == 2
            && parts.allSatisfy { (1...20).contains($0.utf8.count) && $0.utf8.allSatisfy(\.isASCIIDigit) }
    }

    private static func isLower(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte) }
    private static func isUpper(_ byte: UInt8) -> Bool { (0x41...0x5A).contains(byte) }
}
