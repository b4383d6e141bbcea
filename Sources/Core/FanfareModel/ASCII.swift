extension UInt8 {
    /// True for `0` to `9`.
    @inlinable
    public var isASCIIDigit: Bool { 0x30...0x39 ~= self }

    /// True for a digit or a letter of either case.
    @inlinable
    public var isASCIIAlphanumeric: Bool { isASCIIDigit || 0x61...0x7A ~= self | 0x20 }

    /// Value of a hexadecimal digit, in either case; nil for another byte.
    public var hexDigitValue: UInt8? {
        switch self {
        case 0x30...0x39: self - 0x30
        case 0x41...0x46: self - 0x37
        case 0x61...0x66: self - 0x57
        default: nil
        }
    }
}

extension ArraySlice<UInt8> {
    /// The text without the blanks and tabs around it.
    public var trimmingBlanks: ArraySlice<UInt8> {
        let isBlank = { (byte: UInt8) in byte == 0x20 || byte == 0x09 }
        let end = lastIndex { !isBlank($0) }.map { $0 + 1 } ?? startIndex
        return self[..<end].drop(while: isBlank)
    }
}
