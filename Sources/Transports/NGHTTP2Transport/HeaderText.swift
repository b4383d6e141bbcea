internal import Glibc
internal import HTTPLanes

/// Header names and values as nghttp2 passes them.
extension UnsafeBufferPointer<UInt8> {
    func isEqual(_ text: StaticString) -> Bool {
        isEqual(UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    private func isEqual(_ other: UnsafeBufferPointer<UInt8>) -> Bool {
        guard let start = baseAddress, let otherStart = other.baseAddress else { return isEmpty && other.isEmpty }
        return count == other.count && memcmp(start, otherStart, count) == 0
    }

    /// The bytes as text; `last` itself if it is the same text.
    func text(last: String) -> String {
        var last = last
        return last.withUTF8 { isEqual($0) } ? last : keptText
    }

    /// The bytes as text, within ``HeaderValue``'s bounds.
    var keptText: String {
        count <= HeaderValue.maximumBytes ? String(decoding: self, as: UTF8.self) : HeaderValue.unreadable
    }
}
