internal import CCurl

/// Bytes on their way to a socket under TLS.
///
/// OpenSSL wants a write that it could not finish repeated with the same bytes at the same address. So a part is copied
/// to memory that does not move, and nothing else is offered before that part is gone.
struct OutgoingBytes {
    /// What fits one record of TLS.
    private static let partBytes = 16_384

    private var waiting: [UInt8] = []
    private var head = 0
    private var part: UnsafeMutableRawBufferPointer?
    private var offered: Range<Int> = 0..<0

    private(set) var accepted: UInt64 = 0
    private(set) var handedOver: UInt64 = 0

    /// Bytes not taken by libcurl yet.
    var count: Int { waiting.count - head + offered.count }
    var isEmpty: Bool { count == 0 }

    mutating func append(_ bytes: [UInt8]) {
        waiting += bytes
        accepted += UInt64(bytes.count)
    }

    /// - Returns: why nothing can be written any more; nil when all is written or the socket is full.
    mutating func write(to easy: UnsafeMutableRawPointer) -> String? {
        while !isEmpty {
            if offered.isEmpty { offer() }
            guard let part, let base = part.baseAddress else { return "out of memory" }
            var count = 0
            let code = curl_easy_send(easy, base + offered.lowerBound, offered.count, &count)
            if code == CURLE_AGAIN { return nil }
            guard code == CURLE_OK else { return String(cString: curl_easy_strerror(code)) }
            offered = offered.lowerBound + min(count, offered.count)..<offered.upperBound
        }
        return nil
    }

    private mutating func offer() {
        let memory = part ?? .allocate(byteCount: Self.partBytes, alignment: 16)
        part = memory
        let count = min(Self.partBytes, waiting.count - head)
        memory.copyBytes(from: waiting[head..<head + count])
        head += count
        offered = 0..<count
        handedOver += UInt64(count)
        if head == waiting.count {
            waiting.removeAll(keepingCapacity: true)
            head = 0
        } else if head >= 1 << 18 {
            waiting.removeFirst(head)
            head = 0
        }
    }

    /// When nothing will be written any more.
    mutating func release() {
        part?.deallocate()
        part = nil
        waiting = []
        head = 0
        offered = 0..<0
    }
}
