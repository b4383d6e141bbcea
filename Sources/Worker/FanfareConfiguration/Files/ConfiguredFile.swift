public import FanfareModel
internal import Glibc

/// The file that a setting or an option of the command line names. The description of a setting's file is the setting
/// and its source, never the path: a secret may stand there by mistake. An option's file is described with its path.
public struct ConfiguredFile: Equatable, Sendable, Redacted {
    /// The setting and its source, such as `tls.ca_file (line 7)`, or the option and its path.
    public let name: String
    /// No message may show the path of a setting.
    public let path: String
    /// The folder that a relative path starts from, as messages name it; nil for an absolute path.
    private let start: String?
    /// Whether ``name`` holds the path.
    private let isNamed: Bool

    /// - Parameters:
    ///   - name: the file's name in messages.
    ///   - folder: the folder that a relative path starts from, ending with a slash; empty for the working directory.
    public init(name: String, path: String, folder: String = "") {
        let isRelative = !path.hasPrefix("/")
        self.name = name
        self.path = isRelative ? folder + path : path
        start = isRelative ? (folder.isEmpty ? "the working directory" : "the configuration file's folder") : nil
        isNamed = false
    }

    /// - Parameter option: the option or variable that names the file, or the path itself if the file was found in its
    ///   usual place.
    init(option: String, path: String) {
        name = option == path || Self.isContent(path) ? option : "\(option) \(path)"
        self.path = path
        start = nil
        isNamed = true
    }

    /// Whether both name the same path. The line of the setting does not count: an editor may move it.
    public static func == (left: ConfiguredFile, right: ConfiguredFile) -> Bool { left.path == right.path }

    /// Whether no file has the path now.
    var isMissing: Bool {
        var status = stat()
        return stat(path, &status) != 0 && (errno == ENOENT || errno == ENOTDIR)
    }

    /// The folder of ``path`` with a slash at its end; empty for the working directory.
    var folder: String { path.lastIndex(of: "/").map { String(path[...$0]) } ?? "" }

    public var description: String { name }

    /// Reads the whole file.
    ///
    /// - Parameters:
    ///   - limit: a larger file is refused, so that a wrong path cannot fill the memory.
    ///   - allowsPipe: whether a pipe, such as a shell's `<(…)`, is read too. Devices, and pipes otherwise, are refused
    ///     without being opened.
    /// - Throws: one fault, beginning with ``name``, without a part of the file.
    public func read(limit: Int, allowsPipe: Bool = false) throws(ConfigurationError) -> FileContent {
        guard !Self.isContent(path) else { throw fault(Self.contentSentence) }
        do throws(FileReader.Failure) {
            return try FileReader.read(path, limit: limit, allowsPipe: allowsPipe)
        } catch {
            throw fault(error.isMissing && !isNamed ? "\(error.reason); \(whereItIsMissing)" : error.reason)
        }
    }

    /// The names of a folder's entries, hidden ones included.
    ///
    /// - Throws: why the folder cannot be read, or that it has more entries.
    func entries(limit: Int) throws(ConfigurationError) -> [String] {
        guard let names = Self.entries(of: path, limit: limit) else { throw fault(String(cString: strerror(errno))) }
        guard names.count <= limit else { throw fault("more than \(limit) entries") }
        return names
    }

    /// The names of a folder's entries, at most one above the limit; nil if it cannot be read.
    static func entries(of path: String, limit: Int) -> [String]? {
        guard let folder = opendir(path) else { return nil }
        defer { closedir(folder) }
        var names: [String] = []
        while names.count <= limit, let entry = readdir(folder) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }

    static let contentSentence =
        "holds the content of a file, not its path: write it to a file (mode 0600) and name that file"

    /// Whether a text is the content of a file: JSON, PEM, or several lines.
    static func isPasted(_ text: String) -> Bool {
        let start = text.utf8.drop { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
        return start.starts(with: "{".utf8) || start.starts(with: "-----BEGIN".utf8)
            || text.utf8.contains { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }
    }

    /// Whether a text is the content of a file, or too long for a path.
    public static func isContent(_ text: String) -> Bool {
        isPasted(text) || text.utf8.count >= Int(PATH_MAX)
            || text.utf8.split(separator: UInt8(ascii: "/")).contains { $0.count > Int(NAME_MAX) }
    }

    /// The warning that every user may read the file.
    public var tooOpen: Concern { Concern("\(name): readable by every user of this machine", remedy: "chmod 600 it") }

    /// An error with one fault of this file.
    func fault(_ sentence: String) -> ConfigurationError { ConfigurationError(faults: ["\(name): \(sentence)"]) }

    /// Hints at the mistake without showing the path: whether its folder exists, and where a relative path starts.
    private var whereItIsMissing: String {
        var status = stat()
        let isThere = stat(folder.isEmpty ? "." : folder, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
        let relative = start.map { " (a relative path starts in \($0))" } ?? ""
        return (isThere ? "its folder is there" : "its folder is not there either") + relative
    }
}

/// The content of a file, and whether others may read it.
public struct FileContent: Sendable {
    /// Without the byte order mark.
    public var bytes: [UInt8]
    /// Whether the file begins with a byte order mark.
    var hasByteOrderMark: Bool
    /// True when every user of this machine may read it.
    public var isReadableByOthers: Bool

    /// - Parameter file: all bytes of the file.
    init(file: [UInt8], isReadableByOthers: Bool) {
        bytes = Array(ByteOrderMark.removed(from: file))
        hasByteOrderMark = bytes.count < file.count
        self.isReadableByOthers = isReadableByOthers
    }
}
