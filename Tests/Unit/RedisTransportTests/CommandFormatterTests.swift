import FanfareModel
import StreamWire
import Testing

@testable import RedisTransport

@Suite struct CommandFormatterTests {
    @Test func wordsHaveTheirLengthBeforeThem() throws {
        var command = RedisCommand("SET", "k\r\n", "")
        command.append([0, 0xFF])
        var output = Array("before".utf8)
        CommandFormatter.append(command, to: &output)
        let expected = Array("before*4\r\n$3\r\nSET\r\n$3\r\nk\r\n\r\n$0\r\n\r\n$2\r\n".utf8) + [0, 0xFF, 0x0D, 0x0A]
        #expect(output == expected)
    }

    private static func command() -> RedisCommand {
        let list = Array((0..<40).map { "recipient-\($0)" }.joined(separator: "\n").utf8)
        var recipients = RecipientList(within: list)
        recipients.append(0..<11)
        for text in ["", "b", "recipient"] { recipients.append(text) }
        var command = RedisCommand("FCALL", "", "a word")
        command.append(shared: list[..<200])
        command.append(shared: [])
        command.append(7)
        command.append(shared: list[201...])
        command.append(sharedLines: 0..<3, of: recipients)
        command.append(sharedLines: 1..<2, of: recipients)
        command.append(sharedLines: 2..<4, of: recipients)
        return command
    }

    /// The same words, none of them shared.
    private static func copied(_ command: RedisCommand) -> RedisCommand {
        (1..<command.count).reduce(into: RedisCommand("FCALL")) { $0.append(command.word($1)) }
    }

    @Test func sharedWordsAreWordsLikeOthers() throws {
        let (command, copied) = (Self.command(), Self.copied(Self.command()))
        #expect(command.count == 10 && copied.count == 10)
        #expect(command.byteCount == copied.byteCount)
        var (output, expected): ([UInt8], [UInt8]) = ([], [])
        CommandFormatter.append(command, to: &output)
        CommandFormatter.append(copied, to: &expected)
        #expect(output == expected)
        #expect(command.word(3).count == 200 && command.word(3).starts(with: Array("recipient-0\n".utf8)))
        #expect(command.word(4).isEmpty && Array(command.word(5)) == Array("7".utf8))
        let lines = (7..<10).map { String(decoding: command.word($0), as: UTF8.self) }
        #expect(lines == ["recipient-0\n\nb", "", "b\nrecipient"])
        #expect((0..<10).allSatisfy { command.wordCount($0) == command.word($0).count })
    }

    @Test func piecesOfAnySizeAreTheWholeCommand() throws {
        let command = Self.command()
        var expected: [UInt8] = []
        CommandFormatter.append(Self.copied(command), to: &expected)
        for most in 1...expected.count + 1 {
            var pieces = CommandPieces(command)
            #expect(pieces.byteCount == expected.count)
            var output: [UInt8] = []
            while !pieces.isOver {
                var piece: [UInt8] = []
                pieces.append(to: &piece, most: most)
                // The head of a word is never divided.
                try #require(!piece.isEmpty && piece.count <= most + 32)
                output += piece
            }
            #expect(output == expected, "pieces of \(most)")
        }
    }

    @Test func commandBeyondTheLimitsOfRedisIsNotSent() {
        // Their bytes are never read, so none are written, and no memory is touched.
        func word(_ count: Int) -> ArraySlice<UInt8> { [UInt8](unsafeUninitializedCapacity: count) { $1 = count }[...] }
        let longest = CommandFormatter.maximumWordBytes
        func fits(_ words: [ArraySlice<UInt8>]) -> Bool {
            var command = RedisCommand("SET")
            for word in words { command.append(shared: word) }
            return (try? CommandFormatter.check(command)) != nil
        }
        #expect(fits([word(longest)]))
        #expect(!fits([word(longest + 1)]))
        let half = word(longest / 2)
        #expect(fits([half, half, half]))
        #expect(!fits([half, half, half, half]), "with the command's name more than all words may have")
    }
}
