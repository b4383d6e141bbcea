internal import FoundationEssentials
internal import RedisTransport
internal import StreamWire

/// A Redis list that one job reads as its audience. It is written in pieces, expires by itself, and never changes later.
struct AudienceList {
    /// Maximum number of recipients in a stream entry.
    static let inlineLimit = 100_000
    private static let pieceSize = 1_000
    /// Bytes after which a piece ends.
    private static let pieceBytes = 1 << 20
    /// How long the list is kept after the start of the job.
    private static let keepMs: Int64 = 7 * 86_400_000

    let key: String
    let client: RedisClient
    /// The start of the job in Unix milliseconds, nil for now; the list must outlive it.
    let startMs: Int64?
    /// Plural noun for the elements, such as `tokens`.
    let noun: String
    /// Elements that were written.
    private(set) var total = 0

    init(_ key: String, _ client: RedisClient, startMs: Int64?, noun: String) {
        (self.key, self.client, self.startMs, self.noun) = (key, client, startMs, noun)
    }

    /// A unique name: a list that a job reads must never change.
    static func newKey(project: String) -> String { "audience:{\(project)}:\(UUID().uuidString.lowercased())" }

    /// Writes the elements of a long file, and tells the user.
    /// - Parameters:
    ///   - elements: the elements that were read already; empty afterwards.
    ///   - limit: why they are written to a list, such as `more than 100000 tokens`.
    ///   - bytes: the text of an element.
    ///   - next: reads the next element; nil at the end.
    mutating func write<Element, Text: Collection<UInt8>>(
        _ elements: inout [Element],
        because limit: String,
        _ bytes: (Element) -> Text,
        next: () throws -> Element?
    ) async throws {
        Console.error("fanfare: \(limit): writing them to the list \(key) first")
        repeat {
            try await append(elements, bytes)
            elements.removeAll(keepingCapacity: elements.count <= Self.pieceSize)
            while elements.count < Self.pieceSize, let element = try next() { elements.append(element) }
        } while !elements.isEmpty
    }

    /// Ends the writing, and tells the user how long the list is kept. Deletes the list when the file is bad after all.
    /// - Parameters:
    ///   - source: the option that named the file.
    ///   - check: lines of a pipe are checked only now, and a file may have changed since it was checked.
    func end(_ source: String, check: () throws -> Void) async throws {
        guard total > 0 else { throw Outcome.failed.because("\(source): the file changed while it was read") }
        do { try check() } catch {
            await delete()
            throw error
        }
        Console.error("fanfare: \(total) \(noun); the list expires 7 days after the start of the job")
    }

    /// Appends elements, in one command for each piece.
    /// - Parameter bytes: the text of an element.
    mutating func append<Element, Text: Collection<UInt8>>(
        _ elements: [Element],
        _ bytes: (Element) -> Text
    ) async throws {
        var next = 0
        while next < elements.count {
            var command = RedisCommand("RPUSH", key)
            var (count, size) = (0, 0)
            while next < elements.count, count < Self.pieceSize, size < Self.pieceBytes {
                let text = bytes(elements[next])
                command.append(text)
                (next, count, size) = (next + 1, count + 1, size + text.count)
            }
            try await push(command, count)
        }
    }

    private mutating func push(_ command: RedisCommand, _ count: Int) async throws {
        let length = try await client.send(command).integer ?? 0
        if total == 0 { try await expire() }
        total += count
        guard length == total else {
            throw Outcome.failed.because("the list \(key) has \(length) \(noun) where \(total) were written")
        }
    }

    private func expire() async throws {
        let now = try await client.nowMs()
        let end = max(now, startMs ?? now) + Self.keepMs
        _ = try await client.send(RedisCommand("PEXPIREAT", key, "\(end)"))
    }

    /// Deletes the list. It expires where the user may not delete it.
    func delete() async { _ = try? await client.send(RedisCommand("DEL", key)) }
}

extension RedisClient {
    /// The time of Redis' clock, which workers use, in Unix milliseconds.
    func nowMs() async throws(RedisError) -> Int64 {
        guard let milliseconds = JobInquiry.milliseconds(try await send(JobInquiry.time)) else {
            throw RedisError(.protocolError, "TIME did not answer with a time")
        }
        return milliseconds
    }
}
