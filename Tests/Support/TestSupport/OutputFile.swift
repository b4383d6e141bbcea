internal import EventLoop
public import Foundation

/// The output of a process, in a file without a name. A file is read without libdispatch: its event loop crashes now and
/// then when pipes of many processes are closed at once.
public final class OutputFile: Sendable {
    /// For `Process.standardOutput` and `standardError`.
    public let writing: FileHandle
    private let reading: FileHandle
    private let bytes = Locked(Data())

    public init() throws {
        var template = Array("/tmp/ff-XXXXXX".utf8CString)
        let descriptor = mkstemp(&template)
        guard descriptor >= 0 else { throw TestFailure("mkstemp: errno \(errno)") }
        let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        defer { unlink(path) }
        writing = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        // A handle of its own has a position of its own. Processes append, so that two may share the file.
        guard fcntl(descriptor, F_SETFL, O_APPEND) == 0, fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0 else {
            throw TestFailure("fcntl: errno \(errno)")
        }
        reading = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
    }

    /// Everything that was written until now.
    public var text: String {
        bytes.withLock { bytes in
            if let more = try? reading.readToEnd() { bytes.append(more) }
            return String(decoding: bytes, as: UTF8.self)
        }
    }
}
