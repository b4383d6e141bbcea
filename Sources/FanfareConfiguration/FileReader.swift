internal import Glibc

/// Reads small files whole.
enum FileReader {
    struct Failure: Error {
        /// Such as `No such file or directory`; never a part of the file.
        let reason: String
    }

    struct Content {
        var bytes: [UInt8]
        /// True when every user of this machine may read it.
        var isReadableByOthers: Bool
    }

    /// - Parameter limit: more bytes than this are refused, so that a wrong path cannot fill the memory.
    static func read(_ path: String, limit: Int) throws(Failure) -> Content {
        // A pipe that nobody writes to would be waited for, for ever.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw Failure(reason: reason(errno)) }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw Failure(reason: reason(errno)) }
        guard status.st_mode & S_IFMT != S_IFDIR else { throw Failure(reason: "is a directory") }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = chunk.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            if count < 0, errno == EAGAIN {
                try awaitBytes(descriptor)
                continue
            }
            guard count >= 0 else { throw Failure(reason: reason(errno)) }
            if count == 0 { break }
            bytes.append(contentsOf: chunk[..<count])
            guard bytes.count <= limit else { throw Failure(reason: "more than \(limit) bytes") }
        }
        let isRegular = status.st_mode & S_IFMT == S_IFREG
        return Content(bytes: bytes, isReadableByOthers: isRegular && status.st_mode & S_IROTH != 0)
    }

    private static func awaitBytes(_ descriptor: Int32) throws(Failure) {
        var wanted = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        guard poll(&wanted, 1, pipeMs) != 0 else { throw Failure(reason: "is a pipe, and nothing came for 5 seconds") }
    }

    /// How long a pipe, such as a shell's `<(…)`, may take until the next bytes come.
    private static let pipeMs: Int32 = 5_000

    private static func reason(_ code: Int32) -> String { String(cString: strerror(code)) }
}
