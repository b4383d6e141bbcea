internal import FanfareClient

/// Finds registration tokens in a text of unknown form, and masks them.
///
/// A token is the value of a JSON member that names a recipient, or a word that has `:APA91b` in it. Each byte is read a
/// bounded number of times, so a long text of a hostile producer costs no more than its length.
struct TokenScan {
    private static let names = ["token", "fid", "to", "notification_key"].map { Array("\"\($0)\"".utf8) }
    private static let mark = Array(":APA91b".utf8)
    /// Values of fewer bytes are no tokens.
    private static let minBytes = 13

    private let bytes: [UInt8]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    var masked: String {
        var output: [UInt8] = []
        output.reserveCapacity(bytes.count)
        var index = 0
        while index < bytes.count {
            if let value = value(ofMemberAt: index) {
                output += bytes[index..<value.lowerBound] + Self.mask(bytes[value])
                index = value.upperBound
            } else if starts(Self.mark, at: index), let last = output.last, Self.isWord(last) {
                let start = output.lastIndex { !Self.isWord($0) }.map { $0 + 1 } ?? 0
                let end = bytes[index...].firstIndex { !Self.isWord($0) && $0 != UInt8(ascii: ":") } ?? bytes.count
                let token = output[start...] + bytes[index..<end]
                output.replaceSubrange(start..., with: Self.mask(token))
                index = end
            } else {
                output.append(bytes[index])
                index += 1
            }
        }
        return String(decoding: output, as: UTF8.self)
    }

    /// Where the text of a member's value is, if the member's name begins here and names a recipient.
    private func value(ofMemberAt index: Int) -> Range<Int>? {
        guard bytes[index] == UInt8(ascii: "\""),
            let name = Self.names.first(where: { starts($0, at: index) })
        else { return nil }
        var at = afterSpace(index + name.count)
        guard at < bytes.count, bytes[at] == UInt8(ascii: ":") else { return nil }
        at = afterSpace(at + 1)
        guard at < bytes.count, bytes[at] == UInt8(ascii: "\"") else { return nil }
        let end = bytes[(at + 1)...].firstIndex(of: UInt8(ascii: "\"")) ?? bytes.count
        return end - at - 1 < Self.minBytes ? nil : at + 1..<end
    }

    private func afterSpace(_ index: Int) -> Int {
        bytes[index...].firstIndex { !" \t\r\n".utf8.contains($0) } ?? bytes.count
    }

    private func starts(_ word: [UInt8], at index: Int) -> Bool {
        bytes[index] == word[0] && bytes[index...].starts(with: word)
    }

    private static func mask(_ token: ArraySlice<UInt8>) -> [UInt8] {
        Array(TokenStory.masked(String(decoding: token, as: UTF8.self)).utf8)
    }

    private static func isWord(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"): true
        default: false
        }
    }
}
