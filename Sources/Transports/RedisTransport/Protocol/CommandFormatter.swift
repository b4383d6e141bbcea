internal import FanfareModel
internal import StreamWire

/// Encodes commands: an array of words, each after its length, so that no word can be mistaken for another.
enum CommandFormatter {
    /// Redis' own limits: 512 MiB for one word, 1,048,576 words, 1 GiB not processed yet.
    static let maximumWordBytes = 512 << 20
    static let maximumWords = 1 << 20
    static let maximumBytes = 1 << 30

    /// - Throws: `commandTooLarge`: Redis would close the connection.
    static func check(_ command: RedisCommand) throws(RedisError) {
        let bytes = command.byteCount
        guard bytes <= maximumBytes, command.count <= maximumWords,
            bytes <= maximumWordBytes || (0..<command.count).allSatisfy({ command.wordCount($0) <= maximumWordBytes })
        else { throw RedisError(.commandTooLarge, "\(bytes) bytes in \(command.count) words") }
    }

    static func append(_ command: RedisCommand, to output: inout [UInt8]) {
        guard command.shared.isEmpty else {
            var pieces = CommandPieces(command)
            return pieces.append(to: &output, most: .max)
        }
        appendHead("*", command.count, to: &output)
        var start = 0
        for end in command.ends {
            appendHead("$", end - start, to: &output)
            output.append(contentsOf: command.bytes[start..<end])
            appendLineEnd(to: &output)
            start = end
        }
    }

    static func appendHead(_ type: Unicode.Scalar, _ count: Int, to output: inout [UInt8]) {
        output.append(UInt8(ascii: type))
        output.appendDecimal(Int64(count))
        appendLineEnd(to: &output)
    }

    static func appendLineEnd(to output: inout [UInt8]) {
        output.append(0x0D)
        output.append(0x0A)
    }
}
