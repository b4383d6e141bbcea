internal import FanfareModel
internal import Foundation
internal import RedisTransport
internal import StreamWire

/// Reads a file of tokens. A short file becomes a field of the job. A long file is written to a Redis list in pieces, so
/// that neither this process nor the stream entry grows with the audience.
struct TokensFile {
    let path: String
    let session: ProjectSession
    let notBefore: TimeArgument?

    /// Maximum number of tokens in a stream entry, about 16 MB.
    static let inlineLimit = 100_000
    private static let pieceSize = 1_000
    /// How long the list is kept after the start of the job.
    private static let keepMs: Int64 = 7 * 86_400_000

    func load() async throws -> Target {
        let lines = try LineReader(path: path)
        let tokens = try Self.first(lines, path)
        return tokens.count > Self.inlineLimit ? try await loadAudience(tokens, lines) : .tokens(tokens)
    }

    /// Reads a file whose tokens must fit into one stream entry.
    static func read(_ path: String) throws -> [String] {
        let tokens = try first(try LineReader(path: path), path)
        guard tokens.count <= inlineLimit else {
            let rule = "more than \(inlineLimit) tokens, the limit of a job; split the file"
            throw Outcome.usage.because("--tokens-file: \(rule)")
        }
        return tokens
    }

    /// The first tokens: one more than ``inlineLimit`` if there are as many.
    private static func first(_ lines: LineReader, _ path: String) throws -> [String] {
        var tokens: [String] = []
        while tokens.count <= inlineLimit, let token = try lines.next() { tokens.append(token) }
        guard !tokens.isEmpty else {
            let source = path == "-" ? "standard input" : "--tokens-file"
            throw Outcome.usage.because("\(source): no tokens; give one per line")
        }
        return tokens
    }

    private func loadAudience(_ first: [String], _ lines: LineReader) async throws -> Target {
        // A unique name: a list that a job reads must never change.
        let key = "audience:{\(session.project)}:\(UUID().uuidString.lowercased())"
        Console.error("fanfare: more than \(Self.inlineLimit) tokens: writing them to the list \(key) first")
        var total = 0
        var piece = first
        repeat {
            for start in stride(from: 0, to: piece.count, by: Self.pieceSize) {
                let part = piece[start..<min(piece.count, start + Self.pieceSize)]
                var command = RedisCommand("RPUSH", key)
                for token in part { command.append(token) }
                let length = try await session.client.send(command).integer ?? 0
                if total == 0 { try await expire(key) }
                total += part.count
                guard length == total else {
                    throw Outcome.failed.because("the list \(key) has \(length) tokens where \(total) were written")
                }
            }
            piece.removeAll(keepingCapacity: true)
            while piece.count < Self.inlineLimit, let token = try lines.next() { piece.append(token) }
        } while !piece.isEmpty
        Console.error("fanfare: \(total) tokens; the list expires 7 days after the start of the job")
        return .audience(key: key)
    }

    private func expire(_ key: String) async throws {
        let now = try await session.client.nowMs()
        let start = max(now, notBefore?.milliseconds(nowMs: now) ?? now)
        _ = try await session.client.send(RedisCommand("PEXPIREAT", key, "\(start + Self.keepMs)"))
    }
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
