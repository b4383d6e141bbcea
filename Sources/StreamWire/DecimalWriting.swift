extension [UInt8] {
    /// A number in decimal digits. Most of a command's numbers are the lengths of its words, of two digits at most; those
    /// are written without a text of each first.
    public mutating func appendDecimal(_ number: Int64) {
        switch number {
        case 0..<10: append(UInt8(ascii: "0") + UInt8(number))
        case 10..<100:
            append(UInt8(ascii: "0") + UInt8(number / 10))
            append(UInt8(ascii: "0") + UInt8(number % 10))
        default: append(contentsOf: String(number).utf8)
        }
    }
}
