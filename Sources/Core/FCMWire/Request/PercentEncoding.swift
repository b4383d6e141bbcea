/// Percent encoding for URLs and forms. Everything but `A-Z a-z 0-9 - . _ ~` is escaped, a space too: `%20` reads the
/// same in a path, in a query and in a form, which `+` does not.
extension [UInt8] {
    mutating func appendPercentEncoded(_ text: String) {
        let digits = Self.upperHex
        for byte in text.utf8 {
            if Self.isUnreserved(byte) {
                append(byte)
            } else {
                append(contentsOf: [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]])
            }
        }
    }

    private static var upperHex: [UInt8] { Array("0123456789ABCDEF".utf8) }

    private static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "~"):
            return true
        default: return false
        }
    }
}

extension String {
    /// This text as one segment of a path, or one value of a query.
    var percentEncoded: String {
        var bytes: [UInt8] = []
        bytes.appendPercentEncoded(self)
        return String(decoding: bytes, as: UTF8.self)
    }
}
