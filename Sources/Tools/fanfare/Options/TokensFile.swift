internal import FanfareModel
internal import RedisTransport

/// A file of tokens. A short file becomes a field of the job. A long file is written to a Redis list in pieces, so that
/// neither this process nor the stream entry grows with the audience.
final class TokensFile {
    /// Maximum number of tokens in a stream entry, about 16 MB.
    static let inlineLimit = AudienceList.inlineLimit
    private static let advice = "; correct them, or push the job as it is with --no-check"

    private var reader: TokenReader
    /// All tokens of a short file; the tokens read so far of a long one.
    private var tokens: [String] = []
    /// Whether the tokens do not fit into one stream entry.
    let isLong: Bool

    /// Reads a short file whole. Checks each line of a long one, unless it is a pipe, which can be read only once.
    /// - Parameters:
    ///   - path: the value of `--tokens-file`; `-` for standard input.
    ///   - checks: refuses a file with a line that is no token.
    init(path: String, checks: Bool) throws {
        reader = try TokenReader(path: path, checks: checks)
        while tokens.count <= Self.inlineLimit, let token = try reader.next() { tokens.append(token) }
        isLong = tokens.count > Self.inlineLimit
        if isLong, checks, reader.canRewind || reader.faults.count > 0 { try reader.checkRest() }
        try reader.faults.throwIfAny(advice: Self.advice)
        guard !tokens.isEmpty else {
            let source = path == "-" ? "standard input" : "--tokens-file"
            throw Outcome.usage.because("\(source): no tokens; give one per line")
        }
        if isLong, checks, reader.canRewind {
            tokens = []
            try reader.rewind()
        }
    }

    /// Reads a file whose tokens must fit into one stream entry.
    static func read(_ path: String, checks: Bool) throws -> [String] {
        let file = try TokensFile(path: path, checks: checks)
        guard !file.isLong else {
            let rule = "more than \(inlineLimit) tokens, the limit of a job; split the file"
            throw Outcome.usage.because("--tokens-file: \(rule)")
        }
        return file.tokens
    }

    /// The target of the job.
    /// - Parameter key: the list for the tokens of a long file, see ``AudienceList/newKey(project:)``.
    func target(key: String) -> Target { isLong ? .audience(key: key) : .tokens(tokens) }

    /// Writes the tokens of a long file to the list; does nothing for a short one.
    /// - Parameter startMs: the start of the job in Unix milliseconds, nil for now; the list must outlive it.
    func write(to key: String, _ client: RedisClient, startMs: Int64?) async throws {
        guard isLong else { return }
        var list = AudienceList(key, client, startMs: startMs, noun: "tokens")
        let limit = "more than \(Self.inlineLimit) tokens"
        try await list.write(
            &tokens,
            because: limit,
            \.utf8,
            next: { [self] in
                reader.faults.count == 0 ? try reader.next() : nil
            }
        )
        try await list.end("--tokens-file") {
            guard reader.faults.count > 0 else { return }
            try reader.checkRest()
            try reader.faults.throwIfAny(advice: Self.advice)
        }
    }
}
