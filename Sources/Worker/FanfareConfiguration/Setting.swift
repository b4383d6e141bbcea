/// One setting: where it may be given, what it may be, and what it means. The table of all of them drives reading, the
/// names of environment variables, help and the reference page.
public struct Setting: Sendable {
    /// What a value must look like.
    public enum Kind: Sendable {
        case text
        case integer(ClosedRange<Int64>)
        case choice([String])
        /// A file; relative to the configuration file, or to the working directory from elsewhere.
        case file
        /// `https://host[:port]`, of Google, this machine or an allowed host.
        case origin
        /// A Redis URL; it may hold a password, so no message ever shows it.
        case redisURL
        /// A host's name or address, without scheme and port, of Google, this machine or an allowed host.
        case host
        case digits
        /// `http://host:port`.
        case proxy
        /// `host:port`, port 0 taking a free one, or `unix:///path`.
        case address
        /// A list of host names.
        case hosts
        /// A mapping of topics to the sizes of their audiences; each is kept as `topic=size`.
        case sizes
    }

    /// The path of the key in the file, joined by dots; `projects.*.` stands for every project.
    public let path: String
    public let kind: Kind
    /// Text of the default; empty when there is none.
    public let standard: String
    /// One or two sentences for the reference.
    public let meaning: String
    /// The flag that sets it, without the dashes; nil when there is none.
    public let flag: String?
    /// False for a setting that is checked and kept, but that nothing in this version acts on.
    public let isInEffect: Bool

    init(
        _ path: String,
        _ kind: Kind,
        _ standard: String,
        flag: String? = nil,
        isInEffect: Bool = true,
        _ meaning: String
    ) {
        self.path = path
        self.kind = kind
        self.standard = standard
        self.meaning = meaning
        self.flag = flag
        self.isInEffect = isInEffect
    }

    static let projectPrefix = "projects.*."

    var isPerProject: Bool { path.hasPrefix(Self.projectPrefix) }

    /// The path with a project's id in the place of the star.
    func path(project: String) -> String {
        isPerProject ? "projects.\(project).\(path.dropFirst(Self.projectPrefix.count))" : path
    }

    /// The environment variable of a path: `FANFARE_`, then the path in capitals with `_` for dots and hyphens.
    static func environmentName(path: String) -> String {
        "FANFARE_" + path.uppercased().map { $0 == "." || $0 == "-" ? "_" : String($0) }.joined()
    }

    /// As the reference writes it: a project's id is `<ID>`.
    public var environmentName: String {
        Self.environmentName(path: path).replacing("*", with: "<ID>")
    }
}
