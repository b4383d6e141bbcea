internal import Glibc

/// The file that a setting names. Its description is the setting and the place of its value, never the path: the value
/// may be a secret that was given by mistake.
public struct ConfiguredFile: Equatable, Sendable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    /// The setting and the place of its value, such as `tls.ca_file (line 7)`.
    public let name: String
    /// The file's path. No message may show it.
    public let path: String
    /// The folder in which a relative path starts, in words; nil for an absolute path.
    private let start: String?

    /// - Parameters:
    ///   - name: what messages call the file.
    ///   - folder: what a relative path starts from, with its slash; empty for the working directory.
    public init(name: String, path: String, folder: String = "") {
        let isRelative = !path.hasPrefix("/")
        self.name = name
        self.path = isRelative ? folder + path : path
        start = isRelative ? (folder.isEmpty ? "the working directory" : "the configuration file's folder") : nil
    }

    public var description: String { name }
    public var debugDescription: String { name }
    public var customMirror: Mirror { Mirror(self, children: [:]) }

    /// Reads the whole file.
    ///
    /// - Parameters:
    ///   - limit: more bytes are refused, so that a wrong path cannot fill the memory.
    ///   - allowsPipe: whether a pipe, such as a shell's `<(…)`, is read too. Anything else that is no regular file is
    ///     refused without being opened.
    /// - Throws: the one problem, beginning with ``name``; it repeats neither the path nor a part of the file.
    public func read(limit: Int, allowsPipe: Bool = false) throws(ConfigurationError) -> FileContent {
        guard !PathText.isContent(path) else { throw problem(PathText.contentSentence) }
        do throws(FileReader.Failure) {
            return try FileReader.read(path, limit: limit, allowsPipe: allowsPipe)
        } catch {
            throw problem(error.isMissing ? "\(error.reason); \(whereItIsMissing)" : error.reason)
        }
    }

    /// Whether a text was copied out of a file, or is longer than the path of one may be.
    public static func isContent(_ text: String) -> Bool { PathText.isContent(text) }

    /// The warning about a secret that every user may read.
    public var tooOpen: String { "\(name): readable by every user of this machine; chmod 600 it" }

    /// The problem that the file has, as a whole error.
    func problem(_ sentence: String) -> ConfigurationError { ConfigurationError(problems: ["\(name): \(sentence)"]) }

    /// A hint at the mistake in a path that is not shown: whether its folder exists, and where a relative path starts.
    private var whereItIsMissing: String {
        let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
        var status = stat()
        let isThere = stat(folder, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
        let relative = start.map { " (a relative path starts in \($0))" } ?? ""
        return (isThere ? "its folder is there" : "its folder is not there either") + relative
            + "; the value must be the path of a file, not what the file holds"
    }
}

/// The content of a file, and whether others may read it.
public struct FileContent: Sendable {
    public var bytes: [UInt8]
    /// True when every user of this machine may read it.
    public var isReadableByOthers: Bool
}

/// Tells the path of a file from text that was given in its place.
enum PathText {
    static let contentSentence =
        "holds the content of a file, not its path: write it to a file (mode 0600) and name that file"

    /// Whether a text was copied out of a file: JSON, PEM, or several lines.
    static func isPasted(_ text: String) -> Bool {
        let start = text.utf8.drop { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
        return start.starts(with: "{".utf8) || start.starts(with: "-----BEGIN".utf8)
            || text.utf8.contains { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }
    }

    /// Whether a text was copied out of a file, or is longer than a path may be.
    static func isContent(_ text: String) -> Bool {
        isPasted(text) || text.utf8.count >= Int(PATH_MAX)
            || text.utf8.split(separator: UInt8(ascii: "/")).contains { $0.count > Int(NAME_MAX) }
    }
}
