/// A setting: its path, rule, help text and flag, and the property of the configuration that holds its value.
///
/// The property's initial value is the default. Reading, environment variables and the reference page are derived from
/// the table of all settings.
public struct Setting: Sendable {
    /// The rule for a value.
    public enum Kind: Sendable {
        case text
        case integer(ClosedRange<Int64>)
        case choice([String])
        /// The path of a file. A relative path starts from the configuration file's folder, or from the working directory if
        /// a flag or a variable gives it.
        case file
        /// `https://host[:port]` of Google, this machine or an allowed host.
        case origin
        /// A Redis URL. It may hold a password, so no message shows it.
        case redisURL
        /// The name or address of a host, without scheme and port: Google's, this machine's or an allowed one.
        case host
        case digits
        /// `http://[user:password@]host:port`. It may hold a password, so no message shows it.
        case proxy
        /// `host:port`, where port 0 takes a free port, or `unix:///path`.
        case address
        /// `https://host[:port][/path]`, or `http://` for this machine and allowed hosts.
        case collector
        /// A list of host names.
        case hosts
        /// A mapping of topics to audience sizes, each read as `topic=size`.
        case sizes
    }

    /// The path of the key in the file, joined by dots; `projects.*.` stands for every project.
    public let path: String
    public let kind: Kind
    /// The default as the file would spell it; empty if there is none, or if the value is inherited.
    public let defaultText: String
    /// One or two sentences for the reference.
    public let help: String
    /// The flag that sets it, without the dashes; nil when there is none.
    public let flag: String?
    /// The path of the process's setting whose value a project takes unless it has its own; nil if there is none.
    let inherited: String?
    /// Stores a value that the rule allows in the configuration.
    let store: Store

    enum Store: Sendable {
        case process(@Sendable (inout Configuration, GivenValue) -> Void)
        case project(@Sendable (inout Configuration.Project, GivenValue) -> Void)
    }

    private init(
        _ path: String,
        _ kind: Kind,
        _ defaultText: String,
        _ flag: String?,
        _ inherited: String?,
        _ help: String,
        _ store: Store
    ) {
        (self.path, self.kind, self.defaultText) = (path, kind, defaultText)
        (self.flag, self.inherited, self.help, self.store) = (flag, inherited, help, store)
    }

    /// A setting of the process.
    init<Value: SettingValue>(
        _ path: String,
        _ member: any WritableKeyPath<Configuration, Value> & Sendable,
        _ kind: Kind = Value.kind,
        flag: String? = nil,
        help: () -> String
    ) {
        let store = Store.process { $0[keyPath: member] = Value($1) }
        self.init(path, kind, Configuration()[keyPath: member].text, flag, nil, help(), store)
    }

    /// A setting of each project.
    ///
    /// - Parameter inherited: the path of a setting of the process with the same rule.
    static func project<Value: SettingValue>(
        _ name: String,
        _ member: any WritableKeyPath<Configuration.Project, Value> & Sendable,
        _ kind: Kind = Value.kind,
        inherits inherited: String? = nil,
        help: () -> String
    ) -> Setting {
        let defaultText = inherited == nil ? Configuration.Project(id: "")[keyPath: member].text : ""
        let store = Store.project { $0[keyPath: member] = Value($1) }
        return Setting(projectPrefix + name, kind, defaultText, nil, inherited, help(), store)
    }

    private static let projectPrefix = "projects.*."

    var isPerProject: Bool { path.hasPrefix(Self.projectPrefix) }

    /// The path with a project's id in place of the star.
    func path(project: String) -> String {
        isPerProject ? "projects.\(project).\(path.dropFirst(Self.projectPrefix.count))" : path
    }

    /// The environment variable of a path: `FANFARE_`, then the path in capitals with `_` for dots and hyphens.
    static func environmentName(path: String) -> String {
        "FANFARE_" + path.uppercased().map { $0 == "." || $0 == "-" ? "_" : String($0) }.joined()
    }

    /// The variable as the reference spells it: `<ID>` stands for a project's id.
    public var environmentName: String {
        Self.environmentName(path: path).replacing("*", with: "<ID>")
    }
}
