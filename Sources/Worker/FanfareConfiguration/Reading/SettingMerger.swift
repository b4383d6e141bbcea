internal import FanfareModel

/// Finds each setting's value in the first source that gives one, checks it and stores it in the configuration.
struct SettingMerger {
    private let file: ConfigurationFile
    private let environment: [String: String]
    private let flags: [String: String]
    /// Every setting, once for the process or once for each project.
    private let places: [Place]

    /// Sorted; the file's projects and the ones that `FANFARE_PROJECTS` lists.
    let projects: [String]
    private(set) var faults: [String]
    private(set) var warnings: [String] = []

    private struct Place {
        let setting: Setting
        /// With the project's id.
        let path: String
        /// The project's index; 0 for a setting of the process.
        let project: Int
    }

    static let projectsVariable = "FANFARE_PROJECTS"
    /// Names the configuration file. The command line reads it; it is no setting.
    static let fileVariable = "FANFARE_CONFIG"
    /// Secrets, so they are neither flags nor keys of the file.
    static let adminTokenVariable = "FANFARE_ADMIN_TOKEN"
    static let redisPasswordVariable = "FANFARE_REDIS_PASSWORD"
    static let sentinelPasswordVariable = "FANFARE_REDIS_SENTINEL_PASSWORD"
    static let proxyPasswordVariable = "FANFARE_PROXY_PASSWORD"

    init(file: ConfigurationFile, environment: [String: String], flags: [String: String]) {
        self.file = file
        // An empty variable counts as not set.
        self.environment = ServiceLinks.removed(from: environment.filter { !$0.value.isEmpty })
        self.flags = flags
        var faults = file.faults
        var ids = Set(file.projects)
        for id in self.environment[Self.projectsVariable].map(Self.list) ?? [] {
            if ProjectID.isValid(id) {
                ids.insert(id)
            } else {
                faults.append("\(Self.projectsVariable): a project id must match \(ProjectID.pattern)")
            }
        }
        self.faults = faults
        let projects = ids.sorted()
        self.projects = projects
        places = Settings.all.flatMap { setting in
            let paths = setting.isPerProject ? projects.map { setting.path(project: $0) } : [setting.path]
            return paths.enumerated().map { Place(setting: setting, path: $1, project: $0) }
        }
    }

    /// Finds and checks the given values, by path.
    mutating func merge() -> [String: SourcedValue] {
        var values: [String: SourcedValue] = [:]
        var meanings: [String: String] = [
            Self.projectsVariable: "projects", Self.fileVariable: "the file",
            Self.adminTokenVariable: "the admin token", Self.redisPasswordVariable: "Redis' password",
            Self.sentinelPasswordVariable: "the Sentinels' password",
            Self.proxyPasswordVariable: "the proxy's password",
            "FANFARE_DASHBOARD_TOKEN": "the dashboard's token",
        ]
        for place in places {
            let variable = Setting.environmentName(path: place.path)
            // Two project ids can share a variable: `a` with `iid_endpoint`, and `a-iid` with `endpoint`.
            if let other = meanings.updateValue(place.path, forKey: variable), environment[variable] != nil {
                faults.append("\(variable): could mean \(other) or \(place.path)")
            }
            values[place.path] = value(of: place.setting, at: place.path, variable)
        }
        for (former, path) in Settings.former { meanings[Setting.environmentName(path: former)] = path }
        let rules = ValueRules(hosts: HostPolicy(allowed: values["allowed_hosts"]?.texts ?? []))
        for place in places {
            guard let value = values[place.path] else { continue }
            if let reason = rules.fault(of: value, kind: place.setting.kind) {
                faults.append("\(place.path)\(value.place): \(reason)")
            }
        }
        warnAboutUnknownVariables(meanings)
        return values
    }

    /// The configuration with the values of ``merge()``, which must have found no fault.
    ///
    /// - Parameter directory: the file's folder, ending with a slash.
    func configuration(_ values: [String: SourcedValue], directory: String) -> Configuration {
        var configuration = Configuration()
        configuration.projects = projects.map { Configuration.Project(id: $0) }
        for place in places {
            guard let value = values[place.path] ?? place.setting.inherited.flatMap({ values[$0] }) else { continue }
            let given = GivenValue(path: place.path, kind: place.setting.kind, value: value, directory: directory)
            switch place.setting.store {
            case .process(let store): store(&configuration, given)
            case .project(let store): store(&configuration.projects[place.project], given)
            }
        }
        return configuration
    }

    /// Google's variable for another metadata server. No setting of Fanfare, like `GOOGLE_APPLICATION_CREDENTIALS`.
    var metadataHost: String? { environment["GCE_METADATA_HOST"] }

    /// Fills what OpenTelemetry's own variables say and no source of ``merge()`` does.
    ///
    /// - Returns: warnings about their values.
    func fillTelemetry(_ configuration: inout Configuration) -> [String] {
        var variables = OpenTelemetryVariables(environment)
        variables.fill(&configuration.telemetry, hosts: HostPolicy(allowed: configuration.allowedHosts))
        return variables.warnings
    }

    /// The folder of `projects_dir`, whose files are read before anything is merged; nil if no source names one.
    static func projectsFolder(
        _ file: ConfigurationFile,
        _ environment: [String: String],
        _ flags: [String: String],
        directory: String
    ) -> ConfiguredFile? {
        let merger = SettingMerger(file: file, environment: environment, flags: flags)
        guard let place = merger.places.first(where: { $0.path == "projects_dir" }) else { return nil }
        let variable = Setting.environmentName(path: place.path)
        // The rule of the setting refuses pasted content when the settings are merged.
        guard let value = merger.value(of: place.setting, at: place.path, variable),
            !ConfiguredFile.isContent(value.text)
        else { return nil }
        return ConfiguredFile(
            GivenValue(path: place.path, kind: place.setting.kind, value: value, directory: directory)
        )
    }

    /// Reads a secret that has no setting, only an environment variable.
    func secret(_ variable: String) -> SecretText? { environment[variable].map { SecretText($0) } }

    private func value(of setting: Setting, at path: String, _ variable: String) -> SourcedValue? {
        func value(_ text: String, _ source: SourcedValue.Source) -> SourcedValue {
            switch setting.kind {
            case .hosts, .sizes: return SourcedValue(texts: Self.list(text), source: source)
            default: return SourcedValue(texts: [text], source: source)
            }
        }
        if let text = flags[path] { return value(text, .flag(setting.flag ?? path)) }
        if let text = environment[variable] { return value(text, .environment(variable)) }
        for (former, current) in Settings.former where current == path {
            let variable = Setting.environmentName(path: former)
            if let text = environment[variable] { return value(text, .environment(variable)) }
        }
        if path == "redis.url", let text = environment["REDIS_URL"] { return value(text, .environment("REDIS_URL")) }
        if let found = file.values[path] { return found }
        // Projects of other transports ignore their credentials.
        let google = "GOOGLE_APPLICATION_CREDENTIALS"
        if setting.path == "projects.*.credentials", let text = environment[google] {
            return value(text, .environment(google))
        }
        return nil
    }

    /// Warns only: an older worker may share its environment with a newer one, and links of services may be incomplete.
    private mutating func warnAboutUnknownVariables(_ meanings: [String: String]) {
        for name in environment.keys.sorted() where name.hasPrefix("FANFARE_") && meanings[name] == nil {
            if ServiceLinks.service(of: name) != nil { continue }
            let hint = NearestKey.find(name, among: meanings.keys).map { "; did you mean \($0)?" } ?? ""
            warnings.append("\(name): no setting has this variable\(hint)")
        }
    }

    private static func list(_ text: String) -> [String] {
        text.split(separator: ",").map { part in
            String(part.drop(while: { $0 == " " }).reversed().drop(while: { $0 == " " }).reversed())
        }
    }
}
