import TestSupport
import Testing
import ZlibKit

@Suite struct GzipInflaterTests {
    private static func gzip(_ command: String) throws -> [UInt8] {
        try runProgram("/bin/bash", ["-c", "set -o pipefail; \(command) | gzip -c"])
    }

    /// The whole text; the bytes are fed in pieces of a size.
    private static func inflate(_ bytes: [UInt8], piece: Int, read: Int = 65_536) throws -> [UInt8] {
        let inflater = GzipInflater()
        var text: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: piece) {
            inflater.feed(Array(bytes[start..<min(start + piece, bytes.count)]))
            while true {
                let next = try inflater.read(read)
                #expect(next.count <= read)
                if next.isEmpty { break }
                text += next
            }
        }
        if !inflater.isWhole { throw GzipError.truncated }
        return text
    }

    @Test(arguments: [1, 7, 4_096, .max >> 1], [1, 100, 65_536])
    func textDoesNotDependOnThePieces(piece: Int, read: Int) throws {
        let bytes = try Self.gzip("seq 1 3000")
        let text = try Self.inflate(bytes, piece: piece, read: read)
        #expect(String(decoding: text, as: UTF8.self) == (1...3_000).map { "\($0)\n" }.joined())
    }

    @Test(arguments: [1, 1_000])
    func membersFollowEachOther(piece: Int) throws {
        let bytes = try Self.gzip("printf one") + Self.gzip("printf ''") + Self.gzip("printf two")
        #expect(try Self.inflate(bytes, piece: piece) == Array("onetwo".utf8))
    }

    @Test func noTextIsWhole() throws {
        #expect(try Self.inflate([], piece: 1).isEmpty)
        #expect(try Self.inflate(Self.gzip("printf ''"), piece: 5).isEmpty)
    }

    @Test func everyPartIsTruncated() throws {
        let bytes = try Self.gzip("seq 1 20")
        for count in 1..<bytes.count {
            #expect(throws: GzipError.truncated) { try Self.inflate(Array(bytes.prefix(count)), piece: 10) }
        }
    }

    @Test(arguments: [[0], [31], [31, 139], Array("more".utf8)])
    func bytesAfterTheEndAreAFault(rest: [UInt8]) throws {
        let bytes = try Self.gzip("printf text") + rest
        #expect(throws: GzipError.self) { try Self.inflate(bytes, piece: bytes.count) }
    }

    @Test func otherTextIsCorrupt() throws {
        var bytes = try Self.gzip("seq 1 100")
        #expect(throws: GzipError.corrupt) { try Self.inflate(Array("hello, hello".utf8), piece: 5) }
        // zlib's own format.
        #expect(throws: GzipError.corrupt) { try Self.inflate([0x78, 0x9C, 0x03, 0, 0, 0, 0, 1], piece: 8) }
        // The check sum.
        bytes[bytes.count - 6] ^= 1
        #expect(throws: GzipError.corrupt) { try Self.inflate(bytes, piece: 50) }
    }

    @Test func memoryDoesNotDependOnTheText() throws {
        let bytes = try Self.gzip("head -c 50000000 /dev/zero")
        let inflater = GzipInflater()
        inflater.feed(bytes)
        var count = 0
        while case let next = try inflater.read(1_000), !next.isEmpty { count += next.count }
        #expect(count == 50_000_000 && inflater.isWhole)
    }
}
