internal import FanfareCore

/// Reads the tokens of a file, and checks each as a worker does.
struct TokenReader: ~Copyable {
    private var lines: LineReader
    private let checks: Bool
    /// Whether the next line with text may be the header of a sheet.
    private var isStart = true
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

    mutating func rewind() throws {
        try lines.rewind()
        isStart = true
    }

    /// The next token; nil at the end, and once too many lines are no token.
    mutating func next() throws -> String? {
        while !faults.isFull, var line = try lines.next() {
            if line.number == 1, SpreadsheetLine.separator(line.bytes) != nil { continue }
            guard let cell = SpreadsheetLine.cell(line.bytes) else { continue }
            line.bytes = cell
            if isStart {
                isStart = false
                if SpreadsheetLine.isHeader(cell) { continue }
            }
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
