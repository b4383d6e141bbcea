internal import FanfareModel

/// The spelling of a token. A text that goes to the producer as a token has to obey it.
enum TokenText {
    static func isToken(_ text: String) -> Bool {
        (1...1_024).contains(text.utf8.count)
            && text.utf8.allSatisfy { $0.isASCIIAlphanumeric || "_:.-".utf8.contains($0) }
    }
}
