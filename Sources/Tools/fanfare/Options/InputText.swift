internal import FanfareCore
internal import FanfareJSON
internal import FanfareModel
internal import Glibc

/// A text that the user gave as a file or on standard input.
struct InputText {
    /// The path as the user gave it; `standard input` for `-`.
    let name: String
    let bytes: [UInt8]
    /// The line of the file at which the text begins.
    var firstLine = 1

    /// Reads a file, a pipe or, for `-`, standard input to its end, without a byte order mark.
    /// - Parameters:
    ///   - option: the option or argument that names the file, for messages.
    ///   - limit: a larger file is refused.
    /// - Throws: the exit code if it cannot be read.
    static func read(_ path: String, option: String, limit: Int) throws -> InputText {
        let descriptor = path == "-" ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC)
        defer { if descriptor >= 0 { close(descriptor) } }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while descriptor >= 0, bytes.count <= limit {
            let count = chunk.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            if count == 0 {
                let text = Array(ByteOrderMark.removed(from: bytes))
                return InputText(name: path == "-" ? "standard input" : path, bytes: text)
            }
            guard count > 0 else { break }
            bytes.append(contentsOf: chunk[..<count])
        }
        let reason =
            bytes.count > limit
            ? "more than \(limit) bytes"
            : "\(String(cString: strerror(errno))); give a file of JSON, or - for standard input"
        throw Outcome.usage.because("\(FileLines.name(of: path, option)): \(reason)")
    }

    /// The line and the column of a byte, counted from 1.
    func place(of offset: Int) -> (line: Int, column: Int) {
        let before = bytes.prefix(offset)
        let start = before.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
        let line = before.count { $0 == UInt8(ascii: "\n") }
        return (firstLine + line, String(decoding: before[start...], as: UTF8.self).unicodeScalars.count + 1)
    }

    /// Where the fault stands in this text.
    /// - Parameter root: the path of the whole text, `message` or nothing.
    func placed(_ fault: EntryFault, root: String) -> PlacedFault {
        if let offset = fault.offset, fault.path == root {
            let (line, column) = place(of: offset)
            return PlacedFault(fault: fault, file: name, line: line, column: column)
        }
        let offset = JSONPlace.offset(of: fault.path, root: root, in: bytes) { Excerpt.plain($0) }
        // The fault of a text of one line, as in NDJSON, is on that line.
        let line = offset.map { place(of: $0).line } ?? (firstLine > 1 ? firstLine : nil)
        return PlacedFault(fault: fault, file: name, line: line)
    }
}

/// A broken rule, and where the user wrote what breaks it.
struct PlacedFault {
    let fault: EntryFault
    let file: String
    var line: Int?
    var column: Int?

    /// Such as `message.json:7: message.data: 5012 bytes, at most 4096`.
    var text: String {
        let reason = fault.path.isEmpty ? fault.rule : fault.reason
        return ([file] + [line, column].compactMap { $0.map(String.init) }).joined(separator: ":") + ": \(reason)"
    }

    var json: JSONObject {
        var object: JSONObject = ["path": .string(fault.path), "rule": .string(fault.rule)]
        object["line"] = line.map { .number(JSONNumber(Int64($0))) }
        object["column"] = column.map { .number(JSONNumber(Int64($0))) }
        return object
    }
}
