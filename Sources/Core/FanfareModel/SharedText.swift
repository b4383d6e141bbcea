/// A part of a larger text, which it keeps in memory: a thousand recipients need one allocation.
@frozen public struct SharedText: Sendable {
    /// The larger text.
    public let storage: [UInt8]
    @usableFromInline let start: UInt32
    @usableFromInline let end: UInt32

    /// - Parameters:
    ///   - storage: less than 4 GiB.
    ///   - range: of the storage, UTF-8.
    @inlinable public init(_ range: Range<Int>, of storage: [UInt8]) {
        self.storage = storage
        start = UInt32(range.lowerBound)
        end = UInt32(range.upperBound)
    }

    public init(_ text: String) {
        let bytes = Array(text.utf8)
        self.init(0..<bytes.count, of: bytes)
    }

    /// The text as a `String`; invalid UTF-8 becomes replacement characters.
    public var string: String { String(decoding: bytes, as: UTF8.self) }

    @inlinable public var count: Int { Int(end - start) }

    @inlinable public var bytes: ArraySlice<UInt8> { storage[Int(start)..<Int(end)] }

    /// The text's first bytes, as another part of the same larger text.
    ///
    /// - Parameter length: at most ``count``.
    public func prefix(_ length: Int) -> SharedText {
        precondition(length <= count, "the prefix is longer than the text")
        return SharedText(Int(start)..<Int(start) + length, of: storage)
    }

    @inlinable @inline(__always)
    public func withUnsafeBytes<Value>(_ body: (UnsafeRawBufferPointer) -> Value) -> Value {
        unsafe storage.withUnsafeBytes { all in
            unsafe body(UnsafeRawBufferPointer(rebasing: all[Int(start)..<Int(end)]))
        }
    }
}

extension SharedText: Equatable {
    public static func == (one: SharedText, other: SharedText) -> Bool { one.bytes == other.bytes }
}

extension SharedText: Hashable {
    public func hash(into hasher: inout Hasher) { hasher.combine(ByteHash.of(self)) }
}
