internal import CZLIB

/// Why a text is not gzip.
public enum GzipError: Error, Equatable, CustomStringConvertible {
    case corrupt
    case truncated

    public var description: String {
        switch self {
        case .corrupt: "not gzip, or gzip with other bytes after it"
        case .truncated: "gzip without its end"
        }
    }
}

/// Inflates gzip (RFC 1952) in pieces: one member after the other, and nothing else. Its memory does not depend on the
/// text. No text at all is a whole one.
public final class GzipInflater {
    private let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    private var input: [UInt8] = []
    /// The first byte of ``input`` that is not inflated yet.
    private var next = 0
    /// Whether the next byte begins a member.
    private var isBetweenMembers = true

    public init() {
        stream.initialize(to: z_stream())
        let status = czlib_begin_gzip(stream)
        precondition(status == Z_OK, "zlib has no memory, or is another version than the one that was built with")
    }

    deinit {
        inflateEnd(stream)
        stream.deallocate()
    }

    /// Whether everything that was fed was inflated, up to the end of a member.
    public var isWhole: Bool { isBetweenMembers && next == input.count }

    /// Gives the next bytes, after everything before them was inflated.
    public func feed(_ bytes: [UInt8]) {
        precondition(next == input.count, "bytes are fed while others are not inflated")
        (input, next) = (bytes, 0)
    }

    /// The next bytes of the text, at most `maximum`; empty once everything that was fed is inflated.
    public func read(_ maximum: Int) throws(GzipError) -> [UInt8] {
        var isCorrupt = false
        let output = [UInt8](unsafeUninitializedCapacity: maximum) { buffer, count in
            isCorrupt = !inflate(into: buffer, &count)
        }
        if isCorrupt { throw .corrupt }
        return output
    }

    /// - Returns: false for what is not gzip.
    private func inflate(into output: UnsafeMutableBufferPointer<UInt8>, _ count: inout Int) -> Bool {
        input.withUnsafeMutableBufferPointer { input in
            while count < output.count {
                if isBetweenMembers {
                    guard next < input.count, inflateReset(stream) == Z_OK else { return next == input.count }
                    isBetweenMembers = false
                }
                // Without a byte, it may still have output of the bytes before.
                stream.pointee.next_in = input.baseAddress.map { $0 + next }
                stream.pointee.avail_in = UInt32(input.count - next)
                stream.pointee.next_out = output.baseAddress.map { $0 + count }
                stream.pointee.avail_out = UInt32(output.count - count)
                let status = CZLIB.inflate(stream, Z_NO_FLUSH)
                next = input.count - Int(stream.pointee.avail_in)
                count = output.count - Int(stream.pointee.avail_out)
                switch status {
                case Z_STREAM_END: isBetweenMembers = true
                case Z_OK: break
                case Z_BUF_ERROR: return true
                default: return false
                }
            }
            return true
        }
    }
}
