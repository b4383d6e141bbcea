import StreamWire
import Testing

@testable import RedisTransport

@Suite struct CommandFormatterTests {
    @Test func wordsHaveTheirLengthBeforeThem() throws {
        var command = RedisCommand("SET", "k\r\n", "")
        command.append([0, 0xFF])
        var output = Array("before".utf8)
        try CommandFormatter.append(command, to: &output)
        let expected = Array("before*4\r\n$3\r\nSET\r\n$3\r\nk\r\n\r\n$0\r\n\r\n$2\r\n".utf8) + [0, 0xFF, 0x0D, 0x0A]
        #expect(output == expected)
    }

    /// Hand-overs of a turn may be hundreds of megabytes: each must not copy those before it.
    @Test func manyLargeCommandsAreNotCopiedAgainAndAgain() throws {
        let command = RedisCommand("SET", "k", String(repeating: "v", count: 1_100_000))
        var output: [UInt8] = []
        var (capacity, moves) = (0, 0)
        for _ in 0..<100 {
            try CommandFormatter.append(command, to: &output)
            if output.capacity != capacity { (capacity, moves) = (output.capacity, moves + 1) }
        }
        #expect(moves < 12, "\(moves)")
    }
}
