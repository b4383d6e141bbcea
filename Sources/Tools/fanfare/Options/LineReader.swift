internal import Glibc

/// Reads lines of a file or of standard input, trimmed of white space, without empty lines.
final class LineReader {
    private let file: UnsafeMutablePointer<FILE>
    private var buffer: UnsafeMutablePointer<CChar>?
    private var capacity = 0
    private var isAtStart = true

    /// - Parameter path: the value of `--tokens-file`; `-` for standard input.
    /// - Throws: the exit code if it cannot be opened.
    init(path: String) throws {
        guard let file = path == "-" ? fdopen(dup(STDIN_FILENO), "r") : fopen(path, "re") else {
            let reason = String(cString: strerror(errno))
            throw Outcome.usage.because(
                "--tokens-file: \(reason); give a file that can be read, or - for standard input"
            )
        }
        self.file = file
    }

    deinit {
        free(buffer)
        fclose(file)
    }

    /// The next line; nil at the end.
    func next() throws -> String? {
        while true {
            errno = 0
            let count = getline(&buffer, &capacity, file)
            guard count >= 0, let buffer else {
                if ferror(file) != 0 {
                    throw Outcome.failed.because("--tokens-file: \(String(cString: strerror(errno)))")
                }
                return nil
            }
            var bytes = UnsafeRawBufferPointer(start: buffer, count: count)[...]
            // Skip a byte order mark.
            if isAtStart, bytes.starts(with: [0xEF, 0xBB, 0xBF]) { bytes = bytes.dropFirst(3) }
            isAtStart = false
            let isSpace: (UInt8) -> Bool = { $0 <= 0x20 }
            guard let start = bytes.firstIndex(where: { !isSpace($0) }),
                let end = bytes.lastIndex(where: { !isSpace($0) })
            else { continue }
            return String(decoding: bytes[start...end], as: UTF8.self)
        }
    }
}
