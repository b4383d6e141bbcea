internal import ArgumentParser
internal import FanfareModel
internal import Foundation
internal import RedisTransport
internal import StreamWire

/// Reads a file of tokens. A short one becomes the job's own field; a long one is written to a Redis list in pieces
/// first, so that neither this process nor one entry of the stream grows with the audience.
struct TokensFile {
    let path: String
    let client: RedisClient
    let keys: ProjectKeys
    let notBefore: TimeArgument?

    /// Tokens that one entry of the stream carries; about 16 MB.
    static let inlineLimit = 100_000
    private static let pieceSize = 1_000
    /// How long the list lives after the job may start.
    private static let keepMs: Int64 = 7 * 86_400_000

    func load() async throws -> Target {
        let lines = try LineReader(path: path)
        var tokens: [String] = []
        while let token = try lines.next() {
            tokens.append(token)
            if tokens.count > Self.inlineLimit { return try await loadAudience(tokens, lines) }
        }
        guard !tokens.isEmpty else { throw Self.empty(path) }
        return .tokens(tokens)
    }

    /// The tokens of a file that one entry has to hold.
    static func read(_ path: String) throws -> [String] {
        let lines = try LineReader(path: path)
        var tokens: [String] = []
        while let token = try lines.next() {
            tokens.append(token)
            guard tokens.count <= inlineLimit else {
                let rule = "more than \(inlineLimit) tokens, the most for a job; split the file"
                throw Outcome.usage.because("--tokens-file: \(rule)")
            }
        }
        guard !tokens.isEmpty else { throw Self.empty(path) }
        return tokens
    }

    private static func empty(_ path: String) -> ExitCode {
        let source = path == "-" ? "standard input" : "--tokens-file"
        return Outcome.usage.because("\(source): no tokens; give one a line")
    }

    private func loadAudience(_ first: [String], _ lines: LineReader) async throws -> Target {
        // A name of its own: a list that a job still reads must never change.
        let key = "audience:{\(keys.project)}:\(UUID().uuidString.lowercased())"
        Console.error("fanfare: more than \(Self.inlineLimit) tokens: writing them to the list \(key) first")
        var total = 0
        var piece = first
        repeat {
            for start in stride(from: 0, to: piece.count, by: Self.pieceSize) {
                let part = piece[start..<min(piece.count, start + Self.pieceSize)]
                var command = RedisCommand("RPUSH", key)
                for token in part { command.append(token) }
                let length = try await client.send(command).integer ?? 0
                if total == 0 { try await expire(key) }
                total += part.count
                guard length == total else {
                    throw Outcome.failed.because("the list \(key) has \(length) tokens where \(total) were written")
                }
            }
            piece.removeAll(keepingCapacity: true)
            while piece.count < Self.inlineLimit, let token = try lines.next() { piece.append(token) }
        } while !piece.isEmpty
        Console.error("fanfare: \(total) tokens; the list goes by itself 7 days after the job may start")
        return .audience(key: key)
    }

    private func expire(_ key: String) async throws {
        let now = try await client.nowMs()
        let start = max(now, notBefore?.milliseconds(nowMs: now) ?? now)
        _ = try await client.send(RedisCommand("PEXPIREAT", key, "\(start + Self.keepMs)"))
    }
}

extension RedisClient {
    /// Redis' clock, which workers go by; Unix milliseconds.
    func nowMs() async throws -> Int64 {
        let parts = try await send(RedisCommand("TIME")).array ?? []
        guard parts.count == 2, let seconds = parts[0].integer, let micros = parts[1].integer else {
            throw RedisError(.protocolError, "TIME did not answer with a time")
        }
        return seconds * 1_000 + micros / 1_000
    }
}
