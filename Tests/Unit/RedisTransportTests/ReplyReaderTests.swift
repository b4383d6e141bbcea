import StreamWire
import TestSupport
import Testing

@testable import RedisTransport

/// The reader by itself: fast enough for many cases.
@Suite struct ReplyReaderTests {
    /// Everything read from `bytes`, fed in pieces of `size`, and the error that ended it.
    private func read(
        _ bytes: [UInt8],
        inPiecesOf size: Int,
        limits: RedisLimits = RedisLimits()
    ) -> (values: [RedisValue], error: RedisError?) {
        let reader = ReplyReader(limits: limits)
        defer { reader.close() }
        var values: [RedisValue] = []
        var start = 0
        do throws(RedisError) {
            while start < bytes.count {
                let piece = Array(bytes[start..<min(start + size, bytes.count)])
                start += piece.count
                try feed(reader, piece)
                while let value = try reader.next() { values.append(value) }
            }
        } catch {
            return (values, error)
        }
        return (values, nil)
    }

    private func feed(_ reader: ReplyReader, _ bytes: [UInt8]) throws(RedisError) {
        let result = bytes.withUnsafeBytes { buffer in
            Result { () throws(RedisError) in try reader.feed(buffer) }
        }
        try result.get()
    }

    /// The buffer of a large reply is freed; replies after it, or later, are read.
    @Test(arguments: [1 << 16, 1 << 20, 1 << 30]) func replyBehindALargeOneIsRead(size: Int) {
        let large = (0..<3 << 20).map { UInt8(truncatingIfNeeded: $0 >> 8 &+ $0) }
        let bulk = Array("$\(large.count)\r\n".utf8) + large + Array("\r\n".utf8)
        let bytes = bulk + Array("+OK\r\n".utf8) + bulk + Array("*2\r\n:1\r\n".utf8) + bulk + Array(":7\r\n".utf8)
        let (values, error) = read(bytes, inPiecesOf: size)
        #expect(error == nil)
        #expect(
            values == [.bulk(large), .status("OK"), .bulk(large), .array([.integer(1), .bulk(large)]), .integer(7)]
        )
        let alone = read(bulk + bulk, inPiecesOf: bulk.count)
        #expect(alone.values == [.bulk(large), .bulk(large)] && alone.error == nil)
    }

    private static func random(_ generator: inout SeededGenerator, depth: Int) -> RedisValue {
        switch Int.random(in: 0..<(depth > 5 ? 5 : 7), using: &generator) {
        case 0: return .null
        case 1: return .integer(Int64.random(in: .min ... .max, using: &generator))
        case 2: return .status(String(Int.random(in: 0..<1_000, using: &generator)))
        case 3: return .error("ERR \(Int.random(in: 0..<1_000, using: &generator))")
        case 4:
            let count = Int.random(in: 0..<40, using: &generator)
            return .bulk((0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) })
        default:
            let count = Int.random(in: 0..<5, using: &generator)
            return .array((0..<count).map { _ in random(&generator, depth: depth + 1) })
        }
    }

    private static func encode(_ value: RedisValue) -> [UInt8] {
        switch value {
        case .null: return Array("$-1\r\n".utf8)
        case .integer(let number): return Array(":\(number)\r\n".utf8)
        case .status(let text): return Array("+\(text)\r\n".utf8)
        case .error(let text): return Array("-\(text)\r\n".utf8)
        case .bulk(let bytes): return Array("$\(bytes.count)\r\n".utf8) + bytes + [13, 10]
        case .array(let values): return Array("*\(values.count)\r\n".utf8) + values.flatMap(encode)
        }
    }

    @Test func encodedRepliesAreReadBackInPiecesOfAnySize() {
        for seed in 0..<300 as Range<UInt64> {
            var generator = SeededGenerator(seed: seed)
            let values = (0..<5).map { _ in Self.random(&generator, depth: 0) }
            let bytes = values.flatMap(Self.encode)
            for size in [1, 2, 7, bytes.count] {
                let (read, error) = read(bytes, inPiecesOf: size)
                #expect(read == values, "seed \(seed), pieces of \(size)")
                #expect(error == nil)
            }
        }
    }

    @Test func randomBytesEndInAnErrorOrWaitForMore() {
        var errors = 0
        for seed in 0..<5_000 as Range<UInt64> {
            var generator = SeededGenerator(seed: seed)
            let alphabet = Array("*$:+-0123456789\r\n,_#!=(~%>| ax".utf8)
            let isText = seed % 2 == 0
            let bytes = (0..<Int.random(in: 1..<200, using: &generator)).map { _ -> UInt8 in
                isText
                    ? alphabet[Int.random(in: 0..<alphabet.count, using: &generator)]
                    : UInt8.random(in: 0...255, using: &generator)
            }
            if let error = read(bytes, inPiecesOf: 13).error {
                errors += 1
                #expect(error.code == .protocolError)
            }
        }
        // hiredis 1 reads further types before it refuses them, so more texts wait for their end.
        #expect(errors > 3_500)
    }

    @Test func mutatedRepliesNeverTrap() {
        var (errors, values) = (0, 0)
        for seed in 0..<5_000 as Range<UInt64> {
            var generator = SeededGenerator(seed: seed)
            var bytes = (0..<3).flatMap { _ in Self.encode(Self.random(&generator, depth: 0)) }
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                let index = Int.random(in: 0..<bytes.count, using: &generator)
                switch Int.random(in: 0..<4, using: &generator) {
                case 0: bytes[index] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
                case 1: bytes.insert(UInt8.random(in: 48...57, using: &generator), at: index)
                case 2 where bytes.count > 1: bytes.remove(at: index)
                default: bytes.removeLast(bytes.count - max(1, index))
                }
            }
            let result = read(bytes, inPiecesOf: Int.random(in: 1...64, using: &generator))
            values += result.values.count
            if let error = result.error {
                errors += 1
                #expect(error.code == .protocolError)
            }
        }
        #expect(errors > 500 && values > 2_000)
    }

    @Test func aDeepReplyWithinTheLimitIsRead() {
        let limits = RedisLimits()
        let bytes = Array(String(repeating: "*1\r\n", count: limits.maximumDepth).utf8) + Array(":1\r\n".utf8)
        #expect(read(bytes, inPiecesOf: 3).values.count == 1)
        let deeper = Array(String(repeating: "*1\r\n", count: limits.maximumDepth + 1).utf8) + Array(":1\r\n".utf8)
        #expect(read(deeper, inPiecesOf: 3).error?.code == .protocolError)
    }
}
