internal import FanfareModel

/// Percent encoding for URLs and forms. Everything but `A-Z a-z 0-9 - . _ ~` is escaped. A space is `%20`, which reads
/// the same in a path, a query and a form; `+` does not.
extension [UInt8] {
    package mutating func appendPercentEncoded(_ text: String) {
        let digits = Array("0123456789ABCDEF".utf8)
        for byte in text.utf8 {
            if byte.isASCIIAlphanumeric || "-._~".utf8.contains(byte) {
                append(byte)
            } else {
                append(contentsOf: [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]])
            }
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
