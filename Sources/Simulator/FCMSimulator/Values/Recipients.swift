/// Checks the form of tokens, topics and labels.
enum Recipients {
    static func isToken(_ text: String) -> Bool {
        isMade(text, most: 1_024, extra: "_:.-")
    }

    /// - Parameter text: bare, without `/topics/`.
    static func isTopic(_ text: String) -> Bool {
        isMade(text, most: 900, extra: "-_.~%")
    }

    static func isLabel(_ text: String) -> Bool {
        isMade(text, most: 50, extra: "-_.~%")
    }

    /// Whether a push service accepts the topic: at most 32 characters of base64url.
    static func isPushTopic(_ text: String) -> Bool {
        isMade(text, most: 32, extra: "-_")
    }

    private static func isMade(_ text: String, most: Int, extra: String) -> Bool {
        guard !text.isEmpty, text.utf8.count <= most else { return false }
        return text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "A")...UInt8(ascii: "Z"):
                return true
            default: return extra.utf8.contains(byte)
            }
        }
    }
}
