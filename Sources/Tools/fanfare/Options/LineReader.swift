internal import Glibc

/// Reads lines of a file or of standard input, trimmed of white space, without empty lines. Holds one line at a time,
/// whatever the file is.
struct LineReader: ~Copyable {
    /// A longer line ends the reading: the file is no text.
    static let longestLine = 65_536

    private let descriptor: Int32
    private var buffer: [UInt8] = []
    /// The part of ``buffer`` that is not read yet.
    private var unread = 0..<0
    private var number = 0
    private var isAtEnd = false
    /// Whether ``rewind()`` works: not for pipes, terminals and devices.
    let canRewind: Bool

    /// - Parameter path: the value of `--tokens-file`; `-` for standard input.
    /// - Throws: the exit code if it cannot be opened.
    init(path: String) throws {
        descriptor = path == "-" ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC)
        var status = stat()
        guard descriptor >= 0, fstat(descriptor, &status) == 0, status.st_mode & S_IFMT != S_IFDIR else {
            let reason = descriptor >= 0 ? "is a directory" : String(cString: strerror(errno))
            if descriptor >= 0 { close(descriptor) }
            throw Outcome.usage.because(
                "--tokens-file: \(reason); give a file that can be read, or - for standard input"
            )
        }
        // Standard input may stand in the middle of a file.
        canRewind = path != "-" && status.st_mode & S_IFMT == S_IFREG
    }

    deinit { close(descriptor) }

    /// Starts over at the first line.
    mutating func rewind() throws {
        guard lseek(descriptor, 0, SEEK_SET) == 0 else { throw Self.failure() }
        (unread, number, isAtEnd) = (0..<0, 0, false)
    }

    /// The next line and its number, counted from 1; nil at the end.
    mutating func next() throws -> (number: Int, bytes: ArraySlice<UInt8>)? {
        while let line = try nextLine() {
            number += 1
            // Skip a byte order mark.
            let bytes = number == 1 && line.starts(with: [0xEF, 0xBB, 0xBF]) ? line.dropFirst(3) : line
            let isSpace: (UInt8) -> Bool = { $0 <= 0x20 }
            guard let start = bytes.firstIndex(where: { !isSpace($0) }),
                let end = bytes.lastIndex(where: { !isSpace($0) })
            else { continue }
            return (number, bytes[start...end])
        }
        return nil
    }

    private mutating func nextLine() throws -> ArraySlice<UInt8>? {
        var searched = unread.lowerBound
        while true {
            if let end = buffer[searched..<unread.upperBound].firstIndex(of: UInt8(ascii: "\n")) {
                defer { unread = end + 1..<unread.upperBound }
                return buffer[unread.lowerBound..<end]
            }
            guard !isAtEnd else {
                defer { unread = 0..<0 }
                return unread.isEmpty ? nil : buffer[unread]
            }
            guard unread.count <= Self.longestLine else {
                throw Outcome.usage.because(
                    "--tokens-file: line \(number + 1) is longer than \(Self.longestLine) bytes; give one token per line"
                )
            }
            buffer.removeSubrange(unread.upperBound...)
            buffer.removeSubrange(..<unread.lowerBound)
            searched = buffer.count
            try fill()
            unread = 0..<buffer.count
        }
    }

    /// Reads the next bytes behind those of the buffer.
    private mutating func fill() throws {
        let used = buffer.count
        buffer.append(contentsOf: repeatElement(0, count: Self.longestLine))
        while true {
            let count = buffer.withUnsafeMutableBytes { bytes in
                let free = UnsafeMutableRawBufferPointer(rebasing: bytes[used...])
                return read(descriptor, free.baseAddress, free.count)
            }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw Self.failure() }
            buffer.removeLast(Self.longestLine - count)
            isAtEnd = count == 0
            return
        }
    }

    private static func failure() -> any Error {
        Outcome.failed.because("--tokens-file: \(String(cString: strerror(errno)))")
    }
}
