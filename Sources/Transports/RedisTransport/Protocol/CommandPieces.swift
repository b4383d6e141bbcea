internal import SocketTransport
internal import StreamWire

/// A command that is written piece by piece, as the wire takes it.
///
/// Written at once, a job of a million recipients would be held once more, in memory that is touched for this only; with
/// TLS twice more.
struct CommandPieces: BytePieces {
    private let command: RedisCommand
    private var isBegun = false
    /// Index of the word that is being written, whether its head is written, and how far it has come.
    private var word = 0
    private var hasHead = false
    private var progress = 0

    init(_ command: RedisCommand) { self.command = command }

    /// True when every word is written.
    var isOver: Bool { word == command.count }

    var byteCount: Int {
        var head: [UInt8] = []
        CommandFormatter.appendHead("*", command.count, to: &head)
        return (0..<command.count).reduce(head.count) { sum, index in
            head.removeAll(keepingCapacity: true)
            let count = command.wordCount(index)
            CommandFormatter.appendHead("$", count, to: &head)
            return sum + head.count + count + 2
        }
    }

    /// A recipient of a list is not divided, nor is a head.
    static let overrun = 2_048

    mutating func append(to output: inout [UInt8], most: Int) {
        if !isBegun { CommandFormatter.appendHead("*", command.count, to: &output) }
        isBegun = true
        while word < command.count, output.count < most {
            if !hasHead { CommandFormatter.appendHead("$", command.wordCount(word), to: &output) }
            hasHead = true
            guard command.appendPart(of: word, from: &progress, to: &output, most: most) else { continue }
            CommandFormatter.appendLineEnd(to: &output)
            (word, hasHead, progress) = (word + 1, false, 0)
        }
    }
}
