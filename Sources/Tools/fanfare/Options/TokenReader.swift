internal import FanfareCore

/// Reads the tokens of a file, and checks each as a worker does.
struct TokenReader: ~Copyable {
    private var lines: LineReader
    private let checks: Bool
    private(set) var faults: LineFaults

    /// - Parameters:
    ///   - path: the value of `--tokens-file`; `-` for standard input.
    ///   - checks: leaves out lines that are no token, and collects them as ``faults``.
    init(path: String, checks: Bool) throws {
        lines = try LineReader(path: path, .tokens)
        faults = LineFaults(path: path, .tokens)
        self.checks = checks
    }

    var canRewind: Bool { lines.canRewind }

    mutating func rewind() throws { try lines.rewind() }

    /// The next token; nil at the end, and once too many lines are no token.
    mutating func next() throws -> String? {
        while !faults.isFull, let line = try lines.next() {
            let token = String(decoding: line.bytes, as: UTF8.self)
            if !checks || RecipientRules.isToken(token) { return token }
            guard let rule = RecipientRules.tokenFault(line.bytes) else { return token }
            faults.add(line: line.number, rule)
        }
        return nil
    }

    /// Reads and checks the other lines.
    mutating func checkRest() throws {
        while try next() != nil {}
    }
}
