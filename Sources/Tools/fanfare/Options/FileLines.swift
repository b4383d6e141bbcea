internal import FanfareConfiguration
internal import FanfareModel
internal import Glibc

/// Reads lines of a file or of standard input. Holds one line at a time, whatever the file is.
struct FileLines: ~Copyable {
    /// What the lines hold, for errors.
    struct Purpose {
        /// The option that names the file.
        let option: String
        /// A longer line ends the reading: the file is no text. Bytes.
        let longestLine: Int
        /// What to give instead of a line that is too long.
        let advice: String

        static let tokens = Purpose(option: "--tokens-file", longestLine: 65_536, advice: "give one token per line")
    }

    private let purpose: Purpose
    private let descriptor: Int32
    private var buffer: [UInt8] = []
    /// The part of ``buffer`` that is not read yet.
    private var unread = 0..<0
    private var isAtEnd = false
    /// The number of the last line that was read, counted from 1.
    private(set) var number = 0
    /// Whether ``rewind()`` works: not for pipes, terminals and devices.
    let canRewind: Bool

    /// - Parameter path: `-` for standard input.
    /// - Throws: the exit code if it cannot be opened.
    init(path: String, _ purpose: Purpose) throws {
        self.purpose = purpose
        descriptor = path == "-" ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC)
        var status = stat()
        guard descriptor >= 0, fstat(descriptor, &status) == 0, status.st_mode & S_IFMT != S_IFDIR else {
            let reason = descriptor >= 0 ? "is a directory" : String(cString: strerror(errno))
            if descriptor >= 0 { close(descriptor) }
            throw Outcome.usage.because(
                "\(Self.name(of: path, purpose.option)): \(reason); give a file that can be read, or - for standard input"
            )
        }
        // Standard input may stand in the middle of a file.
        canRewind = path != "-" && status.st_mode & S_IFMT == S_IFREG
    }

    deinit { close(descriptor) }

    /// The option with the path that the user gave, for messages; the option alone for the content of a file, standard
    /// input, or an argument that is the path itself.
    static func name(of path: String, _ option: String) -> String {
        path == "-" || path == option || ConfiguredFile.isContent(path) ? option : "\(option) \(path)"
    }

    /// Starts over at the first line.
    mutating func rewind() throws {
        guard lseek(descriptor, 0, SEEK_SET) == 0 else { throw failure() }
        (unread, number, isAtEnd) = (0..<0, 0, false)
    }

    /// The next line without its line feed and without the file's byte order mark; nil at the end.
    mutating func next() throws -> ArraySlice<UInt8>? {
        guard let line = try nextLine() else { return nil }
        number += 1
        return number == 1 ? ByteOrderMark.removed(from: line) : line
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
            guard unread.count <= purpose.longestLine else {
                throw Outcome.usage.because(
                    "\(purpose.option): line \(number + 1) is longer than \(purpose.longestLine) bytes; \(purpose.advice)"
                )
            }
            buffer.removeSubrange(unread.upperBound...)
            buffer.removeSubrange(..<unread.lowerBound)
            searched = buffer.count
            try fill()
            unread = 0..<buffer.count
        }
    }

    /// Reads the next bytes after the buffer's.
    private mutating func fill() throws {
        let (used, size) = (buffer.count, 65_536)
        buffer.append(contentsOf: repeatElement(0, count: size))
        while true {
            let count = buffer.withUnsafeMutableBytes { bytes in
                let free = UnsafeMutableRawBufferPointer(rebasing: bytes[used...])
                return read(descriptor, free.baseAddress, free.count)
            }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw failure() }
            buffer.removeLast(size - count)
            isAtEnd = count == 0
            return
        }
    }

    private func failure() -> any Error {
        Outcome.failed.because("\(purpose.option): \(String(cString: strerror(errno)))")
    }
}
