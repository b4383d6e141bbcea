internal import FanfareModel

/// The value of a setting as given, and its source. The description omits the value, which may be a secret.
struct SourcedValue: Equatable, Sendable, Redacted {
    enum Source: Equatable, Sendable {
        case flag(String)
        case environment(String)
        case file(line: Int)
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
        }
    }
}
