/// Reads lines of a file or of standard input, trimmed of white space, without empty lines.
struct LineReader: ~Copyable {
    private var lines: FileLines

    /// - Parameter path: `-` for standard input.
    /// - Throws: the exit code if it cannot be opened.
    init(path: String, _ purpose: FileLines.Purpose) throws { lines = try FileLines(path: path, purpose) }

    /// Whether ``rewind()`` works: not for pipes, terminals and devices.
    var canRewind: Bool { lines.canRewind }

    /// Starts over at the first line.
    mutating func rewind() throws { try lines.rewind() }

    /// The next line and its number, counted from 1; nil at the end.
    mutating func next() throws -> (number: Int, bytes: ArraySlice<UInt8>)? {
        while let line = try lines.next() {
            guard let text = Self.trimmed(line) else { continue }
            return (lines.number, text)
        }
        return nil
    }

    /// The line without white space at its ends; nil for an empty one.
    static func trimmed(_ line: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        let isText: (UInt8) -> Bool = { $0 > 0x20 }
        guard let start = line.firstIndex(where: isText), let end = line.lastIndex(where: isText) else { return nil }
        return line[start...end]
    }
}
