internal import FanfareModel

/// Takes the first source that has a value for each setting, and checks it.
struct SettingMerger {
    private let file: ConfigurationFile
    private let environment: [String: String]
    private let flags: [String: String]

    /// Sorted; the file's and those that `FANFARE_PROJECTS` lists.
    private(set) var projects: [String]
    private(set) var problems: [String]
    private(set) var warnings: [String] = []

    static let projectsVariable = "FANFARE_PROJECTS"
    /// Names the file; read by the command line, not a setting itself.
    static let fileVariable = "FANFARE_CONFIG"
    /// A secret, so it is neither a flag nor a key of the file.
    static let adminTokenVariable = "FANFARE_ADMIN_TOKEN"
    static let redisPasswordVariable = "FANFARE_REDIS_PASSWORD"
    static let sentinelPasswordVariable = "FANFARE_REDIS_SENTINEL_PASSWORD"

    init(file: ConfigurationFile, environment: [String: String], flags: [String: String]) {
        self.file = file
        // An empty variable is one that was switched off.
        self.environment = environment.filter { !$0.value.isEmpty }
        self.flags = flags
        problems = file.problems
        var ids = Set(file.projects)
        for id in self.environment[Self.projectsVariable].map(Self.list) ?? [] {
            if ProjectID.isValid(id) {
                ids.insert(id)
            } else {
                problems.append("\(Self.projectsVariable): a project id must match \(ProjectID.pattern)")
            }
        }
        projects = ids.sorted()
    }

    /// - Returns: a value for every setting that has one, defaults included, by path.
    mutating func merge() -> [String: SourcedValue] {
        var values: [String: SourcedValue] = [:]
        var meanings: [String: String] = [
            Self.projectsVariable: "projects", Self.fileVariable: "the file",
            Self.adminTokenVariable: "the admin token", Self.redisPasswordVariable: "Redis' password",
            Self.sentinelPasswordVariable: "the Sentinels' password",
            "FANFARE_DASHBOARD_TOKEN": "the dashboard's token",
        ]
        var kinds: [(path: String, setting: Setting)] = []
        for setting in Settings.all {
            let paths = setting.isPerProject ? projects.map { setting.path(project: $0) } : [setting.path]
            for path in paths {
                let variable = Setting.environmentName(path: path)
                // Two hyphenated ids can spell the same variable: `a` with `iid_endpoint`, `a-iid` with `endpoint`.
                if let other = meanings.updateValue(path, forKey: variable), environment[variable] != nil {
                    problems.append("\(variable): could mean \(other) or \(path)")
                }
                kinds.append((path, setting))
                values[path] = value(of: setting, at: path, variable)
            }
        }
        check(kinds, values)
        warnAboutUnknownVariables(meanings)
        return values
    }

    private func value(of setting: Setting, at path: String, _ variable: String) -> SourcedValue? {
        func value(_ text: String, _ source: SourcedValue.Source) -> SourcedValue {
            switch setting.kind {
            case .hosts, .sizes: return SourcedValue(texts: Self.list(text), source: source)
            default: return SourcedValue(texts: [text], source: source)
            }
        }
        if let text = flags[path] { return value(text, .flag(setting.flag ?? path)) }
        if let text = environment[variable] { return value(text, .environment(variable)) }
        if path == "redis.url", let text = environment["REDIS_URL"] { return value(text, .environment("REDIS_URL")) }
        if let found = file.values[path] { return found }
        // Only a project that sends over v1 uses credentials, but naming them for the others does no harm.
        let google = "GOOGLE_APPLICATION_CREDENTIALS"
        if setting.path == "projects.*.credentials", let text = environment[google] {
            return value(text, .environment(google))
        }
        return setting.standard.isEmpty ? nil : value(setting.standard, .standard)
    }

    private mutating func check(_ kinds: [(path: String, setting: Setting)], _ values: [String: SourcedValue]) {
        let rules = ValueRules(hosts: HostPolicy(allowed: values["allowed_hosts"]?.texts ?? []))
        for (path, setting) in kinds {
            guard let value = values[path] else { continue }
            if let reason = rules.refusal(of: value, kind: setting.kind) {
                problems.append("\(path)\(value.place): \(reason)")
            }
            if !setting.isInEffect, value.source != .standard {
                warnings.append("\(path)\(value.place): has no effect in this version")
            }
        }
    }

    /// Not an error: a container platform sets variables named after its services, and one may be named fanfare.
    private mutating func warnAboutUnknownVariables(_ meanings: [String: String]) {
        for name in environment.keys.sorted() where name.hasPrefix("FANFARE_") && meanings[name] == nil {
            if name.hasPrefix("FANFARE_SERVICE_") || name.hasPrefix("FANFARE_PORT") { continue }
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
