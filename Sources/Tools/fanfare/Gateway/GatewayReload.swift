internal import FanfareConfiguration
internal import FanfareCore
internal import FanfareGateway
internal import FanfareModel
internal import Logging
internal import RedisTransport
internal import Synchronization

/// The settings of projects that a gateway checks jobs with. Any thread may read them.
final class GatewayProjectSettings: Sendable {
    private let prefix: String
    private let projects: Mutex<[String: Configuration.Project]>

    init(_ configuration: Configuration) {
        prefix = configuration.prefix
        projects = Mutex(Self.byID(configuration.projects))
    }

    func check(of project: String) -> EntryCheck {
        EntryCheck(projects.withLock { $0[project] }, project: project, prefix: prefix)
    }

    /// Takes up the projects of another configuration.
    ///
    /// - Parameter refused: projects whose files in `projects_dir` have a fault. They stay as they are.
    /// - Returns: whether a project differs.
    func replace(_ new: [Configuration.Project], keeping refused: some Collection<String>) -> Bool {
        projects.withLock { projects in
            let old = projects
            projects = Self.byID(new)
            for id in refused { projects[id] = old[id] }
            return projects != old
        }
    }

    private static func byID(_ projects: [Configuration.Project]) -> [String: Configuration.Project] {
        Dictionary(projects.map { ($0.id, $0) }) { first, _ in first }
    }
}

/// Reads a gateway's projects, keys and certificate again while it runs. Each of the three stands alone: a fault of one
/// leaves it as it was, and the others are taken up.
struct GatewayReload {
    /// What has faults of its own; the value is the log's message about them, which the log bounds one by one.
    private enum Part: String, CaseIterable {
        case settings = "The changed configuration is refused, and projects stay as they were: correct it."
        case keys = "Key files are refused, and keep the keys that they had: correct them."
        case certificate = "The changed certificate is refused, and the old one stays: correct it."
    }

    private let source: ConfigurationSource
    private let started: Configuration
    private let gateway: Gateway
    private let projects: GatewayProjectSettings
    private let meters: ReloadMeters
    private let logger: Logger
    /// The settings of the last configuration without a fault.
    private var settings: Configuration.Gateway
    private var entries: [GatewayKeys.Entry]
    /// The folder of ``entries``.
    private var folder: ConfiguredFile?
    /// nil for plain HTTP.
    private var certificate: GatewayOptions.Identity?
    private var isChanged = false
    private var faults: [Part: [String]] = [:]
    private var reported: [Part: [String]] = [:]
    private var restartKeys: [String] = []

    /// Faults that one reload logs.
    private static let maximumFaults = 20

    init(
        _ source: ConfigurationSource,
        _ started: Configuration,
        _ entries: [GatewayKeys.Entry],
        _ identity: GatewayOptions.Identity?,
        _ gateway: Gateway,
        _ projects: GatewayProjectSettings,
        _ meters: ReloadMeters,
        _ logger: Logger
    ) {
        (self.source, self.started, self.entries, certificate) = (source, started, entries, identity)
        (self.gateway, self.projects, self.meters, self.logger) = (gateway, projects, meters, logger)
        (settings, folder) = (started.gateway, started.gateway.keysFolder)
    }

    /// Reads every 5 s until the task is cancelled.
    mutating func watch() async {
        while !Task.isCancelled {
            try? await Task.sleep(for: .seconds(5))
            readAll()
        }
    }

    private mutating func readAll() {
        (isChanged, faults) = (false, [:])
        do throws(ConfigurationError) { try readProjects() } catch { add(error.faults, of: .settings) }
        do throws(ConfigurationError) { try readKeys() } catch { add(error.faults, of: .keys) }
        do throws(ConfigurationError) { try readIdentity() } catch { add(error.faults, of: .certificate) }
        if isChanged {
            meters.accepted(isPartial: !faults.isEmpty)
        } else if faults != reported {
            if faults.isEmpty { meters.accepted(isPartial: false) } else { meters.refused() }
        }
        guard faults != reported else { return }
        for part in Part.allCases {
            let new = (faults[part] ?? []).filter { reported[part]?.contains($0) != true }
            guard !new.isEmpty else { continue }
            let shown = new.prefix(Self.maximumFaults).joined(separator: "; ")
            logger.error("\(part.rawValue)", metadata: ["problem": "\(shown)"])
        }
        if faults.isEmpty { logger.notice("The configuration is good again.") }
        reported = faults
    }

    private mutating func add(_ new: [String], of part: Part) {
        if !new.isEmpty { faults[part, default: []] += new }
    }

    private mutating func readProjects() throws(ConfigurationError) {
        let (new, refused) = try Configuration.loadAccepted { omitted throws(ConfigurationError) -> Configuration in
            try source.load(omitting: omitted)
        }
        add(refused.keys.sorted().flatMap { refused[$0] ?? [] }, of: .settings)
        if projects.replace(new.projects, keeping: refused.keys) {
            isChanged = true
            logger.info("The projects were read again.", metadata: ["projects": "\(new.projects.count)"])
        }
        settings = new.gateway
        let keys = Self.restartKeys(started, new)
        if !keys.isEmpty, keys != restartKeys {
            logger.warning(
                "Changed settings keep their old values until the gateway restarts.",
                metadata: ["settings": "\(keys.joined(separator: ", "))"]
            )
        }
        restartKeys = keys
    }

    /// A folder that cannot be read leaves all keys as they are.
    private mutating func readKeys() throws(ConfigurationError) {
        var new: [GatewayKeys.Entry] = []
        if let folder = settings.keysFolder {
            let keys = try GatewayKeys.read(folder)
            add(keys.faults, of: .keys)
            new = keys.replacing(folder == self.folder ? entries : [])
        }
        folder = settings.keysFolder
        guard new != entries else { return }
        gateway.replaceKeys(KeyTable(new.map(\.key)))
        (entries, isChanged) = (new, true)
        logger.info("The keys were read again.", metadata: ["keys": "\(new.count)"])
    }

    private mutating func readIdentity() throws(ConfigurationError) {
        guard certificate != nil, let new = try settings.identity(), new != certificate else { return }
        do { try gateway.replaceIdentity(new) } catch { throw .unusableIdentity(error) }
        (certificate, isChanged) = (new, true)
        logger.info("The certificate was read again.")
    }

    /// The keys of the settings that differ and keep their values until the gateway restarts.
    static func restartKeys(_ running: Configuration, _ new: Configuration) -> [String] {
        var keys: [String] = []
        func compare<Value: Equatable>(_ key: String, _ value: (Configuration) -> Value) {
            if value(running) != value(new) { keys.append(key) }
        }
        compare("redis", \.redis)
        compare("prefix", \.prefix)
        compare("tls.ca_file", \.caFile)
        compare("log", \.log)
        compare("admin.token_file", \.admin.tokenFile)
        compare("retention.dedupe_hours", \.retention.dedupeHours)
        compare("gateway.listen", \.gateway.listen)
        compare("gateway.cert_file") { $0.gateway.usesTLS }
        compare("gateway.behind_proxy", \.gateway.isBehindProxy)
        compare("gateway.wait_ms", \.gateway.waitMs)
        compare("gateway.max_waiting", \.gateway.maximumWaiting)
        compare("gateway.max_connections", \.gateway.maximumConnections)
        compare("gateway.admin_listen", \.gateway.adminListen)
        return keys
    }
}
