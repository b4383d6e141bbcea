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

    /// The digit of a value below 16, in lower case.
    fileprivate var hexadecimalDigit: UInt8 { self < 10 ? 0x30 + self : 0x57 + self }
}

extension Collection<UInt8> {
    /// Two hexadecimal digits for each byte, in lower case.
    public var hexadecimal: String {
        var text: [UInt8] = []
        text.reserveCapacity(2 * count)
        for byte in self {
            text.append((byte >> 4).hexadecimalDigit)
            text.append((byte & 15).hexadecimalDigit)
        }
        return String(decoding: text, as: UTF8.self)
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

/// Finds a byte in a text eight bytes at a time, on every platform and without the C library.
package enum ByteSearch {
    /// The index of the first byte with this value at or after `start`; nil when there is none.
    package static func firstIndex(of byte: UInt8, in bytes: UnsafeRawBufferPointer, from start: Int) -> Int? {
        guard start >= 0, start < bytes.count, let base = bytes.baseAddress else { return nil }
        let (ones, highs): (UInt64, UInt64) = (0x0101_0101_0101_0101, 0x8080_8080_8080_8080)
        let wanted = ones &* UInt64(byte)
        var at = start
        while bytes.count - at >= 8 {
            let part = UInt64(littleEndian: unsafe base.loadUnaligned(fromByteOffset: at, as: UInt64.self)) ^ wanted
            // The lowest high bit stands at the first byte that is equal.
            let equal = (part &- ones) & ~part & highs
            if equal != 0 { return at + equal.trailingZeroBitCount / 8 }
            at += 8
        }
        while at < bytes.count {
            if unsafe bytes[at] == byte { return at }
            at += 1
        }
        return nil
    }
}

/// The byte order mark of UTF-8, which some editors write at the start of a text file. It is no part of the text.
public enum ByteOrderMark {
    public static let utf8: [UInt8] = [0xEF, 0xBB, 0xBF]

    /// The bytes of a text file without the mark.
    public static func removed<Bytes: Collection<UInt8>>(from file: Bytes) -> Bytes.SubSequence {
        file.starts(with: utf8) ? file.dropFirst(utf8.count) : file[...]
    }
}

/// Reads percent-encoded text (RFC 3986).
public enum PercentDecoding {
    /// The decoded bytes; nil where two hexadecimal digits do not follow a `%`.
    ///
    /// - Parameter plusIsSpace: whether `+` stands for a blank, as in HTML forms.
    public static func bytes(of text: some Sequence<UInt8>, plusIsSpace: Bool = false) -> [UInt8]? {
        var result: [UInt8] = []
        var rest = text.makeIterator()
        while let byte = rest.next() {
            switch byte {
            case UInt8(ascii: "%"):
                guard let high = rest.next()?.hexDigitValue, let low = rest.next()?.hexDigitValue else { return nil }
                result.append(high << 4 | low)
            case UInt8(ascii: "+") where plusIsSpace: result.append(UInt8(ascii: " "))
            default: result.append(byte)
            }
        }
        return result
    }
}
