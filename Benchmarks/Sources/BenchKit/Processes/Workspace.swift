internal import Foundation

/// A private folder for everything a run writes; gone with ``remove()``.
final class Workspace {
    let path: String

    /// Under /tmp and not TMPDIR: a unix socket's path is limited to 107 bytes.
    init() throws {
        var template = Array("/tmp/fanfare-bench.XXXXXX".utf8CString)
        guard template.withUnsafeMutableBufferPointer({ $0.baseAddress.flatMap { mkdtemp($0) } }) != nil else {
            throw BenchError.failed("cannot make a temporary folder: \(String(cString: strerror(errno)))")
        }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    func file(_ name: String) -> String { "\(path)/\(name)" }

    /// Readable by its owner only: a worker warns about keys that others can read.
    @discardableResult
    func write(_ text: String, to name: String) throws -> String {
        try Self.write(text, at: file(name), permissions: 0o600)
        return file(name)
    }

    /// A file anywhere.
    static func write(_ text: String, at path: String, permissions: Int = 0o644) throws {
        let attributes: [FileAttributeKey: Any] = [.posixPermissions: permissions]
        guard FileManager.default.createFile(atPath: path, contents: Data(text.utf8), attributes: attributes) else {
            throw BenchError.failed("cannot write \(path)")
        }
    }

    /// Seen from the folder that the harness was started in.
    static func absolute(_ path: String) -> String { URL(fileURLWithPath: path).path }

    func read(_ name: String) -> String {
        FileManager.default.contents(atPath: file(name)).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }

    /// The end of a log, for an error message.
    func tail(_ name: String, lines: Int = 8) -> String {
        read(name).split(separator: "\n").suffix(lines).joined(separator: "\n")
    }

    /// Removes a file or folder, if it is there.
    func remove(_ name: String) { try? FileManager.default.removeItem(atPath: file(name)) }

    func remove() { try? FileManager.default.removeItem(atPath: path) }
}
