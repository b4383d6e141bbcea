/// Searches a text eight bytes at a time, with a word's arithmetic. Swift's vectors of 16 bytes take twenty times as
/// long: they are compared byte by byte.
public enum WideBytes {
    /// Whether `find` gives 0 for all parts of the text. A short text is filled up with the letter `a`.
    @inlinable @inline(__always)
    public static func none(of text: String, _ find: (UInt64) -> UInt64) -> Bool {
        let answer = unsafe text.utf8.withContiguousStorageIfAvailable { bytes in
            unsafe none(of: UnsafeRawBufferPointer(bytes), find)
        }
        if let answer { return answer }
        var copy = text
        return copy.withUTF8 { bytes in unsafe none(of: UnsafeRawBufferPointer(bytes), find) }
    }

    /// As ``none(of:_:)``, of bytes.
    @inlinable @inline(__always)
    public static func none(of bytes: UnsafeRawBufferPointer, _ find: (UInt64) -> UInt64) -> Bool {
        guard bytes.count >= 8, let base = bytes.baseAddress else { return find(unsafe part(bytes)) == 0 }
        var found: UInt64 = 0
        // No check in each step, and a last part that overlaps: so the compiler reads two parts at once.
        for step in 0..<bytes.count / 8 {
            found |= find(unsafe base.loadUnaligned(fromByteOffset: step &<< 3, as: UInt64.self))
        }
        return found | find(unsafe base.loadUnaligned(fromByteOffset: bytes.count &- 8, as: UInt64.self)) == 0
    }

    /// Less than eight bytes, filled up with a letter.
    @inlinable
    static func part(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
        var part = repeated("a")
        for index in bytes.indices { part = unsafe part << 8 | UInt64(bytes[index]) }
        return part
    }

    /// Not 0 when a byte of the part is below `limit`, of at most 128.
    @inlinable @inline(__always)
    public static func below(_ limit: UInt8, in part: UInt64) -> UInt64 {
        (part &- ones &* UInt64(limit)) & ~part & highs
    }

    /// Not 0 when a byte of the part is this one.
    @inlinable @inline(__always)
    public static func equal(_ byte: Unicode.Scalar, in part: UInt64) -> UInt64 { below(1, in: part ^ repeated(byte)) }

    /// The high bit of each byte that is in the range, where all bytes of the part are below 128.
    @inlinable @inline(__always)
    public static func within(_ first: Unicode.Scalar, _ last: Unicode.Scalar, in part: UInt64) -> UInt64 {
        let fromFirst = part &+ ones &* (0x80 - UInt64(first.value))
        let behindLast = part &+ ones &* (0x7F - UInt64(last.value))
        return fromFirst & ~behindLast & highs
    }

    @inlinable @inline(__always)
    static func repeated(_ byte: Unicode.Scalar) -> UInt64 { ones &* UInt64(byte.value) }

    @inlinable static var ones: UInt64 { 0x0101_0101_0101_0101 }
    @inlinable public static var highs: UInt64 { 0x8080_8080_8080_8080 }
}
