internal import FanfareModel

/// The value of a setting as given, and its source. The description omits the value, which may be a secret.
struct SourcedValue: Equatable, Sendable, Redacted {
    enum Source: Equatable, Sendable {
        case flag(String)
        case environment(String)
        case file(line: Int)
        /// A file of `projects_dir`, with its name and its folder, which ends with a slash.
        case projectFile(name: String, folder: String, line: Int)
    }

    /// One text, or several for a list.
    var texts: [String]
    var source: Source

    var text: String { texts.first ?? "" }

    var description: String { "a value\(place)" }

    /// The source as messages show it after the path.
    var place: String {
        switch source {
        case .flag(let name): return " (--\(name))"
        case .environment(let name): return " (\(name))"
        case .file(let line): return line > 0 ? " (line \(line))" : ""
        case .projectFile(let name, _, let line): return line > 0 ? " (\(name) line \(line))" : " (\(name))"
        }
    }
}
