internal import CHiredis
internal import Glibc
internal import StreamWire

/// hiredis' reply reader with our own values and limits. One per connection; after an error only ``close()`` follows.
final class ReplyReader {
    private var reader: UnsafeMutablePointer<redisReader>?
    // Lives as long as the reader, which only points to it.
    private let functions: UnsafeMutablePointer<redisReplyObjectFunctions>
    private let builder: ReplyBuilder
    var limits: RedisLimits {
        didSet { builder.limits = limits }
    }
    /// Bytes received since the buffer was empty.
    private var buffered = 0
    /// Bytes above which an empty buffer is freed.
    private static let maximumRoom = 1 << 20

    init(limits: RedisLimits) {
        self.limits = limits
        builder = ReplyBuilder(limits: limits)
        functions = .allocate(capacity: 1)
        var table = redisReplyObjectFunctions()
        table.createString = replyString
        table.createArray = replyArray
        table.createInteger = replyInteger
        table.createNil = replyNil
        table.freeObject = replyFree
        functions.initialize(to: table)
        makeReader()
    }

    private func makeReader() {
        reader = redisReaderCreateWithFunctions(functions)
        reader?.pointee.privdata = Unmanaged.passUnretained(builder).toOpaque()
        // With hiredis' own 16 KiB the buffer would be freed at every turn.
        reader?.pointee.maxbuf = Self.maximumRoom
        if let reader { chiredis_bound_arrays(reader) }
        buffered = 0
    }

    deinit { assert(reader == nil, "close() the reply reader first") }

    func close() {
        guard let reader else { return }
        redisReaderFree(reader)
        functions.deallocate()
        self.reader = nil
    }

    func feed(_ bytes: UnsafeRawBufferPointer) throws(RedisError) {
        guard let reader else { throw RedisError(.protocolError, "no memory for a reply reader") }
        let start = bytes.assumingMemoryBound(to: CChar.self).baseAddress
        guard redisReaderFeed(reader, start, bytes.count) == REDIS_OK else { throw failure(reader) }
        buffered += bytes.count
    }

    /// The next whole reply, or nil until more bytes come.
    func next() throws(RedisError) -> RedisValue? {
        guard let reader else { return nil }
        var token: UnsafeMutableRawPointer?
        guard redisReaderGetReply(reader, &token) == REDIS_OK, builder.failure == nil else { throw failure(reader) }
        guard token != nil else {
            try checkUnfinished(reader)
            return nil
        }
        guard let value = builder.removeFinished() else {
            throw RedisError(.protocolError, "a type that RESP2 does not have")
        }
        if reader.pointee.len == 0 {
            // hiredis would hold the buffer, as large as the value itself, until more bytes come.
            if buffered > Self.maximumRoom {
                redisReaderFree(reader)
                makeReader()
            }
            buffered = 0
        }
        return value
    }

    /// Checks the buffered bytes, which belong to one unfinished reply, against the limits.
    private func checkUnfinished(_ reader: UnsafeMutablePointer<redisReader>) throws(RedisError) {
        let waiting = Int(reader.pointee.len) - Int(reader.pointee.pos)
        guard waiting <= limits.maximumReplyBytes - builder.cost else {
            throw RedisError(.protocolError, "a reply larger than \(limits.maximumReplyBytes) bytes")
        }
        // A bulk string's header ends within a few bytes; a line that does not end would be searched again and again.
        guard waiting > limits.maximumLineBytes, let buffer = reader.pointee.buf else { return }
        guard memchr(buffer + Int(reader.pointee.pos), 10, limits.maximumLineBytes) == nil else { return }
        throw RedisError(.protocolError, "a line longer than \(limits.maximumLineBytes) bytes")
    }

    private func failure(_ reader: UnsafeMutablePointer<redisReader>) -> RedisError {
        if let reason = builder.failure { return RedisError(.protocolError, reason) }
        let text = withUnsafeBytes(of: &reader.pointee.errstr) { bytes in
            String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
        return RedisError(.protocolError, text)
    }
}
