/// Rules for ids that become parts of Redis keys and commands.
package enum Identifiers {
    package static let longestJob = 128

    package static func isJob(_ text: String) -> Bool { isName(text, atMost: longestJob) }

    /// Whether a text can be a registration token or an installation id.
    package static func isToken(_ text: String) -> Bool { isName(text, atMost: 1_024) }

    private static func isName(_ text: String, atMost length: Int) -> Bool {
        (1...length).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"):
                    true
                default: ".:_-".utf8.contains(byte)
                }
            }
    }

    /// Whether a text is the id of a stream entry: two numbers.
    package static func isEntry(_ text: String) -> Bool {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        return parts.count == 2 && parts.allSatisfy { UInt64($0) != nil && $0.first != "+" }
    }
}
