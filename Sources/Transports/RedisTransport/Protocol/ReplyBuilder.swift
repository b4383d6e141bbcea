internal import CHiredis
internal import Glibc
internal import StreamWire

/// Builds values out of what hiredis' reader reports, depth first, counting what they cost.
///
/// hiredis' own reply objects are not used: they reserve room for as many elements as a hostile header claims.
final class ReplyBuilder {
    private struct OpenArray {
        var missing: Int
        var values: [RedisValue]
    }

    /// Elements that an array gets room for before they come: the fields of a usual entry.
    private static let reserved = 16

    private var open: [OpenArray] = []
    private var finished: RedisValue?
    var limits: RedisLimits
    /// Cost of the unfinished reply, by the rule of ``RedisLimits/maximumReplyBytes``.
    private(set) var cost = 0
    /// Set once, and final: why the stream cannot be read any further.
    private(set) var failure: String?

    init(limits: RedisLimits) { self.limits = limits }

    /// Removes and returns the reply that hiredis has just completed; nil if it holds something that is not RESP2.
    func removeFinished() -> RedisValue? {
        defer {
            finished = nil
            cost = 0
        }
        return open.isEmpty ? finished : nil
    }

    func leaf(_ value: RedisValue, bytes: Int) -> Bool {
        guard charge(bytes) else { return false }
        add(value)
        return true
    }

    func beginArray(_ count: Int) -> Bool {
        guard charge(0) else { return false }
        guard open.count < limits.maximumDepth else { return fail("arrays nested deeper than \(limits.maximumDepth)") }
        guard count > 0 else {
            add(.array([]))
            return true
        }
        // Little room is reserved: the count is the peer's claim.
        var values: [RedisValue] = []
        values.reserveCapacity(min(count, Self.reserved))
        open.append(OpenArray(missing: count, values: values))
        return true
    }

    func fail(_ reason: String) -> Bool {
        if failure == nil { failure = reason }
        return false
    }

    private func charge(_ bytes: Int) -> Bool {
        // Both terms are bounded by what was received, so the sum cannot overflow.
        cost += bytes + 32
        return cost <= limits.maximumReplyBytes || fail("a reply larger than \(limits.maximumReplyBytes) bytes")
    }

    private func add(_ value: RedisValue) {
        var value = value
        while let last = open.indices.last {
            open[last].values.append(value)
            open[last].missing -= 1
            guard open[last].missing == 0 else { return }
            value = .array(open.removeLast().values)
        }
        finished = value
    }
}

// MARK: hiredis' callbacks. Each writes down what was read; a null return stops the reader.

/// hiredis wants an object for every value and only passes it around: the builder stands for all of them.
private func accepted(_ builder: ReplyBuilder, _ ok: Bool) -> UnsafeMutableRawPointer? {
    ok ? Unmanaged.passUnretained(builder).toOpaque() : nil
}

private func builder(_ task: UnsafePointer<redisReadTask>?) -> ReplyBuilder? {
    guard let context = task?.pointee.privdata else { return nil }
    return Unmanaged<ReplyBuilder>.fromOpaque(context).takeUnretainedValue()
}

/// Bytes of a large string that are copied before their memory is given back.
private let copiedPart = 1 << 20

/// Copies a large string out of hiredis' buffer and gives the buffer's pages back on the way, so that memory holds it
/// once. hiredis only moves on over the bytes of a string that it has reported.
private func releasingCopy(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
    let page = sysconf(Int32(_SC_PAGESIZE))
    return [UInt8](unsafeUninitializedCapacity: bytes.count) { room, count in
        let target = UnsafeMutableRawBufferPointer(room)
        for start in stride(from: 0, to: bytes.count, by: copiedPart) {
            let part = UnsafeRawBufferPointer(rebasing: bytes[start...].prefix(copiedPart))
            UnsafeMutableRawBufferPointer(rebasing: target[start...]).copyMemory(from: part)
            guard let base = part.baseAddress else { continue }
            let first = base.alignedUp(toMultipleOf: page)
            let length = (base + part.count).alignedDown(toMultipleOf: page) - first
            // Where that fails, memory holds the part twice until the reply is read.
            if length > 0 { _ = madvise(UnsafeMutableRawPointer(mutating: first), length, MADV_DONTNEED) }
        }
        count = bytes.count
    }
}

func replyString(
    _ task: UnsafePointer<redisReadTask>?,
    _ start: UnsafeMutablePointer<CChar>?,
    _ count: Int
) -> UnsafeMutableRawPointer? {
    guard let task, let builder = builder(task) else { return nil }
    let bytes = UnsafeRawBufferPointer(start: start, count: count)
    let value: RedisValue
    switch task.pointee.type {
    case REDIS_REPLY_STRING: value = .bulk(bytes.count < copiedPart ? [UInt8](bytes) : releasingCopy(bytes))
    case REDIS_REPLY_STATUS: value = .status(String(decoding: bytes, as: UTF8.self))
    case REDIS_REPLY_ERROR: value = .error(String(decoding: bytes, as: UTF8.self))
    default: return accepted(builder, builder.fail("a type that RESP2 does not have"))
    }
    return accepted(builder, builder.leaf(value, bytes: count))
}

func replyArray(_ task: UnsafePointer<redisReadTask>?, _ count: chiredis_count) -> UnsafeMutableRawPointer? {
    guard let task, let builder = builder(task) else { return nil }
    guard task.pointee.type == REDIS_REPLY_ARRAY, let count = Int(exactly: count) else {
        return accepted(builder, builder.fail("a type that RESP2 does not have"))
    }
    return accepted(builder, builder.beginArray(count))
}

func replyInteger(_ task: UnsafePointer<redisReadTask>?, _ number: Int64) -> UnsafeMutableRawPointer? {
    guard let builder = builder(task) else { return nil }
    return accepted(builder, builder.leaf(.integer(number), bytes: 0))
}

func replyNil(_ task: UnsafePointer<redisReadTask>?) -> UnsafeMutableRawPointer? {
    guard let builder = builder(task) else { return nil }
    return accepted(builder, builder.leaf(.null, bytes: 0))
}

/// The builder is not hiredis' to free.
func replyFree(_ object: UnsafeMutableRawPointer?) {}
