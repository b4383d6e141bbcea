internal import Glibc

/// Reads small files whole.
public enum FileReader {
    public struct Failure: Error {
        /// Such as `No such file or directory`; without the path or a part of the file.
        public let reason: String
        /// Whether no file has that path.
        var isMissing = false

        init(reason: String) { self.reason = reason }

        fileprivate init(code: Int32) {
            reason = String(cString: strerror(code))
            isMissing = code == ENOENT || code == ENOTDIR
        }
    }

    /// Reads a file, without a byte order mark at its start.
    ///
    /// - Parameter limit: a larger file is refused.
    public static func read(_ path: String, limit: Int, allowsPipe: Bool = false) throws(Failure) -> FileContent {
        // Check before opening: opening alone unblocks the writer of a pipe, and has effects on some devices.
        try check(allowsPipe) { stat(path, &$0) }
        // O_NONBLOCK: opening a pipe without a writer would block forever.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw Failure(code: errno) }
        defer { close(descriptor) }
        let status = try check(allowsPipe) { fstat(descriptor, &$0) }
        let bytes = try readAll(descriptor, limit: limit)
        let isRegular = status.st_mode & S_IFMT == S_IFREG
        return FileContent(file: bytes, isReadableByOthers: isRegular && status.st_mode & S_IROTH != 0)
    }

    @discardableResult
    private static func check(_ allowsPipe: Bool, _ readStatus: (inout stat) -> Int32) throws(Failure) -> stat {
        var status = stat()
        guard readStatus(&status) == 0 else { throw Failure(code: errno) }
        switch status.st_mode & S_IFMT {
        case S_IFREG: return status
        case S_IFDIR: throw Failure(reason: "is a directory")
        default:
            guard allowsPipe else { throw Failure(reason: "is not a regular file") }
            return status
        }
    }

    private static func readAll(_ descriptor: Int32, limit: Int) throws(Failure) -> [UInt8] {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = chunk.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            if count < 0, errno == EAGAIN {
                try awaitBytes(descriptor)
                continue
            }
            guard count >= 0 else { throw Failure(code: errno) }
            if count == 0 { return bytes }
            bytes.append(contentsOf: chunk[..<count])
            guard bytes.count <= limit else { throw Failure(reason: "more than \(limit) bytes") }
        }
    }

    private static func awaitBytes(_ descriptor: Int32) throws(Failure) {
        var wanted = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        guard poll(&wanted, 1, pipeMs) != 0 else { throw Failure(reason: "is a pipe, and nothing came for 5 seconds") }
    }

    /// Timeout of each read from a pipe.
    private static let pipeMs: Int32 = 5_000
}
