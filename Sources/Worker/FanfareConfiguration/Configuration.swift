/// The checked configuration of a Fanfare process.
///
/// To add a setting, add a property with its default to a section, and a row to the table in the same file.
public struct Configuration: Equatable, Sendable {
    public var redis = Redis()
    public var prefix = "fanfare"
    /// In the order of their ids.
    public var projects: [Project] = []
    public var caFile: ConfiguredFile?
    public var allowedHosts: [String] = []
    public var proxy: String?
    public var log = Log()
    public var admin = Admin()
    public var backlogLimit = 1_000_000
    public var retention = Retention()
    public var worker = Worker()
    /// Values that are allowed and probably mistakes: one sentence each.
    public var warnings: [String] = []

    public init() {}
}
