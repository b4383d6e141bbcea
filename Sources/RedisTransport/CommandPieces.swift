internal import StreamWire

/// A command that is written piece by piece, as the wire takes it. Written at once, a job of a million recipients would
/// be held once more, in memory that is touched for this only; with TLS twice more.
struct CommandPieces {
    private let command: RedisCommand
    private var isBegun = false
    /// The word under way, and how much of it is written.
    private var word = 0
    private var offset = 0

    init(_ command: RedisCommand) { self.command = command }

    /// Nothing is left to write.
    var isOver: Bool { word == command.count }

    /// Bytes of all pieces together.
    var byteCount: Int {
        var head: [UInt8] = []
        CommandFormatter.appendHead("*", command.count, to: &head)
        return (0..<command.count).reduce(head.count) { sum, index in
            head.removeAll(keepingCapacity: true)
            let count = command.word(index).count
            CommandFormatter.appendHead("$", count, to: &head)
            return sum + head.count + count + 2
        }
    }

    /// Appends the next piece, until `output` has `most` bytes and a few more.
    mutating func append(to output: inout [UInt8], most: Int) {
        if !isBegun { CommandFormatter.appendHead("*", command.count, to: &output) }
        isBegun = true
        while word < command.count, output.count < most {
            let bytes = command.word(word)
            if offset == 0 { CommandFormatter.appendHead("$", bytes.count, to: &output) }
            // One byte at least, or the head would be written again.
            let part = bytes.dropFirst(offset).prefix(max(1, most - output.count))
            output.append(contentsOf: part)
            offset += part.count
            guard offset == bytes.count else { continue }
            CommandFormatter.appendLineEnd(to: &output)
            (word, offset) = (word + 1, 0)
        }
    }
}
