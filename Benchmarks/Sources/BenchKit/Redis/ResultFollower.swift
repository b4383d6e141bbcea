/// A consumer of a project's results that is told of each as soon as Redis has it: `XREAD BLOCK` on a connection of its
/// own.
final class ResultFollower {
    private let client: RESPClient
    private let key: String
    private var last: String

    /// Follows the stream from the mark.
    init(_ stream: ResultStream, from mark: ResultStream.Mark) throws {
        client = try stream.redis.connect()
        key = stream.key
        last = mark.last == "-" ? "0" : mark.last
        try read()
    }

    /// The next entries, oldest first; none when none arrive in so many milliseconds.
    func next(within milliseconds: Int32) throws -> [ResultStream.Entry] {
        guard let reply = try client.reply(within: milliseconds) else { return [] }
        guard case .array(let streams) = reply, case .array(let stream) = streams.first, stream.count == 2,
            case .array(let values) = stream[1]
        else { throw BenchError.failed("Redis answered XREAD with what is no stream") }
        let entries = try ResultStream.entries(values)
        last = entries.last?.id ?? last
        try read()
        return entries
    }

    private func read() throws { try client.write(["XREAD", "COUNT", "1000", "BLOCK", "0", "STREAMS", key, last]) }
}
