public import FanfareModel

/// The checked configuration of a Fanfare process.
///
/// To add a setting, add a property with its default to a section, and a row to the table in the same file.
public struct Configuration: Equatable, Sendable {
    /// Path of the file it was read from; nil if there was none.
    public var file: String?
    public var redis = Redis()
    public var prefix = "fanfare"
    /// In the order of their ids.
    public var projects: [Project] = []
    /// The folder with a file for each further project; nil if none is configured.
    public var projectsFolder: ConfiguredFile?
    public var caFile: ConfiguredFile?
    public var allowedHosts: [String] = []
    /// May hold a password.
    public var proxy: SecretText?
    /// The user that signs in to the proxy, if the URL names none.
    public var proxyUser: String?
    public var proxyPasswordFile: ConfiguredFile?
    /// The password from the environment; it takes precedence over the file's.
    public var proxyPassword: SecretText?
    /// The engine of projects that name none of their own.
    public var httpEngine = HTTPEngine.curl
    /// Host and port of the metadata server: `GCE_METADATA_HOST`; nil for Google's own name.
    public var metadataHost: String?
    public var log = Log()
    public var admin = Admin()
    public var telemetry = Telemetry()
    public var backlogLimit = 1_000_000
    /// Whether workers index results by token.
    public var tokenIndex = true
    public var retention = Retention()
    public var gateway = Gateway()
    public var worker = Worker()
    /// Values that are allowed and probably mistakes: one sentence each.
    public var warnings: [String] = []

    public init() {}
}
