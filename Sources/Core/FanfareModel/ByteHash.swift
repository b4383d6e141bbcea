/// A quick hash of short texts, sixteen bytes at a step. It does not protect against chosen inputs.
public enum ByteHash {
    public static func of(_ text: String) -> UInt64 {
        // A contiguous text, as Redis' answers are, is read in place.
        let hash = unsafe text.utf8.withContiguousStorageIfAvailable {
            unsafe of(UnsafeRawBufferPointer($0))
        }
        if let hash { return hash }
        var copy = text
        return copy.withUTF8 { unsafe of(UnsafeRawBufferPointer($0)) }
    }

    public static func of(_ text: SharedText) -> UInt64 { unsafe text.withUnsafeBytes { unsafe of($0) } }

    private static func of(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
        // Two words at a time, so that neither multiplication waits for the other.
        var (one, two) = (0x9E37_79B9_7F4A_7C15 ^ UInt64(bytes.count), UInt64(0xC2B2_AE3D_27D4_EB4F))
        var at = 0
        while at + 16 <= bytes.count {
            one = unsafe mixed(one ^ word(bytes, at))
            two = unsafe mixed(two ^ word(bytes, at + 8))
            at += 16
        }
        if at + 8 <= bytes.count {
            one = unsafe mixed(one ^ word(bytes, at))
            at += 8
        }
        var rest: UInt64 = 0
        while at < bytes.count {
            rest = unsafe rest << 8 | UInt64(bytes[at])
            at += 1
        }
        return finished(mixed(one ^ rest) ^ mixed(two))
    }

    @inline(__always)
    private static func word(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> UInt64 {
        unsafe UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }

    /// Mixes both halves of a product, so that each input bit changes bits everywhere.
    public static func mixed(_ value: UInt64) -> UInt64 {
        let product = value.multipliedFullWidth(by: 0xD6E8_FEB8_6659_FD93)
        return product.high ^ product.low
    }

    private static func finished(_ value: UInt64) -> UInt64 {
        let value = (value ^ (value >> 32)) &* 0xBF58_476D_1CE4_E5B9
        return value ^ (value >> 29)
    }
}
