/// Appends parts of a text in place. An array would check its room and its uniqueness for every part, which costs more than
/// short parts. Traps if there is no room left.
extension OutputSpan<UInt8> {
    @inlinable @inline(__always)
    public mutating func put(literal: StaticString) {
        unsafe put(UnsafeRawBufferPointer(start: literal.utf8Start, count: literal.utf8CodeUnitCount))
    }

    @inlinable @inline(__always)
    public mutating func put(_ text: String) {
        let isDone: Void? = unsafe text.utf8.withContiguousStorageIfAvailable { bytes in
            unsafe put(UnsafeRawBufferPointer(bytes))
        }
        if isDone == nil { for byte in text.utf8 { append(byte) } }
    }

    @inlinable @inline(__always)
    public mutating func put(_ text: SharedText) {
        unsafe text.withUnsafeBytes { unsafe put($0) }
    }

    @inlinable @inline(__always)
    public mutating func put(_ bytes: ArraySlice<UInt8>) {
        unsafe bytes.withUnsafeBytes { unsafe put($0) }
    }

    @inlinable @inline(__always)
    mutating func put(_ bytes: UnsafeRawBufferPointer) {
        unsafe withUnsafeMutableBufferPointer { room, count in
            // In every build: a wrong sum of lengths must not write over what is not ours.
            precondition(bytes.count <= room.count - count, "more than there is room for")
            let part = unsafe UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(room)[count...])
            unsafe part.copyMemory(from: bytes)
            count += bytes.count
        }
    }

    /// In decimal digits: 20 bytes at most.
    @inlinable public mutating func put(decimal number: Int) {
        guard number >= 0 else { return put(String(number)) }
        var (digits, limit) = (1, 10)
        // Up to 18 digits: the next limit would overflow.
        while digits < 18, number >= limit { (digits, limit) = (digits + 1, limit * 10) }
        guard number < limit else { return put(String(number)) }
        unsafe withUnsafeMutableBufferPointer { room, count in
            precondition(digits <= room.count - count, "more than there is room for")
            var rest = number
            for at in stride(from: count + digits - 1, through: count, by: -1) {
                unsafe room[at] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
                rest /= 10
            }
            count += digits
        }
    }
}
