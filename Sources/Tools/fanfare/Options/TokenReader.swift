internal import ArgumentParser
internal import FanfareCore

/// Reads the tokens of a file, and checks each as a worker does.
struct TokenReader: ~Copyable {
    private var lines: LineReader
    private let checks: Bool
    private(set) var faults: TokenFaults

    /// - Parameters:
    ///   - path: the value of `--tokens-file`; `-` for standard input.
    ///   - checks: leaves out lines that are no token, and collects them as ``faults``.
    init(path: String, checks: Bool) throws {
        lines = try LineReader(path: path)
        faults = TokenFaults(file: path == "-" ? "standard input" : path)
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

/// The lines of a file that are no token: their number, and the first of them.
struct TokenFaults {
    private static let mostListed = 10
    /// The file is not read further: it is no list of tokens.
    private static let mostCounted = 10_000

    let file: String
    private var listed: [String] = []
    private(set) var count = 0

    init(file: String) { self.file = file }

    var isFull: Bool { count >= Self.mostCounted }

    mutating func add(line: Int, _ rule: String) {
        count += 1
        if listed.count < Self.mostListed { listed.append("\(file):\(line): \(rule)") }
    }

    /// Prints the lines and throws the exit code, if there are any.
    /// - Parameter advice: what to do now, besides correcting the file; empty for nothing.
    func throwIfAny(advice: String) throws {
        guard count > 0 else { return }
        for line in listed { Console.error(line) }
        if count > listed.count {
            Console.error("and \(isFull ? "more than " : "")\(count - listed.count) more")
        }
        let lines = count == 1 ? "1 line is no token" : "\(isFull ? "more than " : "")\(count) lines are no tokens"
        throw Outcome.usage.because("--tokens-file: \(lines), so nothing was pushed" + advice)
    }
}
