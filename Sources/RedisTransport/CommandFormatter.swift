internal import StreamWire

/// Commands as bytes on the wire: an array of words, each with its length before it, so that no word can be taken for
/// another or for a command.
enum CommandFormatter {
    /// Redis' own limits: 512 MiB for one word, 1,048,576 words.
    static let maxBytes = 512 << 20
    static let maxWords = 1 << 20
    /// From here on room is made in one step: doubling would copy, and touch, as much again.
    private static let large = 1 << 20

    /// Appends `command` and leaves `output` untouched if it cannot be sent.
    static func append(_ command: RedisCommand, to output: inout [UInt8]) throws(RedisError) {
        guard command.bytes.count <= maxBytes, command.count <= maxWords else {
            throw RedisError(.commandTooLarge, "\(command.bytes.count) bytes in \(command.count) words")
        }
        // Behind what is larger it grows as arrays do: made to measure for each of many, it would be copied each time.
        if command.bytes.count > large, output.count < command.bytes.count {
            output.reserveCapacity(output.count + command.bytes.count + 16 * (command.count + 1))
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

    private static func appendHead(_ type: Unicode.Scalar, _ count: Int, to output: inout [UInt8]) {
        output.append(UInt8(ascii: type))
        output.appendDecimal(Int64(count))
        appendLineEnd(to: &output)
    }

    private static func appendLineEnd(to output: inout [UInt8]) {
        output.append(0x0D)
        output.append(0x0A)
    }
}
