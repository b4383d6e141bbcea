/// Finds a byte in a text eight bytes at a time, on every platform and without the C library.
package enum ByteSearch {
    /// The index of the first byte with this value at or behind `start`; nil when there is none.
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
