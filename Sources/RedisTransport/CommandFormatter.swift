internal import CHiredis
internal import StreamWire

/// Commands as bytes on the wire, by hiredis' formatter in its argv form: lengths, never format strings.
enum CommandFormatter {
    /// Redis' own limits: 512 MiB for one word, 1,048,576 words.
    static let maxBytes = 512 << 20
    static let maxWords = 1 << 20

    /// Appends `command` and leaves `output` untouched if it cannot be sent.
    static func append(_ command: RedisCommand, to output: inout [UInt8]) throws(RedisError) {
        guard command.bytes.count <= maxBytes, command.count <= maxWords else {
            throw RedisError(.commandTooLarge, "\(command.bytes.count) bytes in \(command.count) words")
        }
        let formatted = command.bytes.withUnsafeBytes { bytes in
            withUnsafeTemporaryAllocation(of: UnsafePointer<CChar>?.self, capacity: command.count) { words in
                withUnsafeTemporaryAllocation(of: Int.self, capacity: command.count) { lengths in
                    var start = 0
                    for (index, end) in command.ends.enumerated() {
                        let word = bytes.baseAddress.map { ($0 + start).assumingMemoryBound(to: CChar.self) }
                        words.initializeElement(at: index, to: word)
                        lengths.initializeElement(at: index, to: end - start)
                        start = end
                    }
                    return take(words, lengths, into: &output)
                }
            }
        }
        guard formatted else { throw RedisError(.commandTooLarge, "no memory to format the command") }
    }

    private static func take(
        _ words: UnsafeMutableBufferPointer<UnsafePointer<CChar>?>,
        _ lengths: UnsafeMutableBufferPointer<Int>,
        into output: inout [UInt8]
    ) -> Bool {
        var text: UnsafeMutablePointer<CChar>?
        let count = Int(redisFormatCommandArgv(&text, Int32(words.count), words.baseAddress, lengths.baseAddress))
        guard count >= 0, let text else { return false }
        output.append(contentsOf: UnsafeRawBufferPointer(start: text, count: count))
        redisFreeCommand(text)
        return true
    }
}
