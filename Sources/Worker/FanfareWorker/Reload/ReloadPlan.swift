internal import FanfareConfiguration

/// What a worker does with its projects to take up another configuration.
struct ReloadPlan: Equatable {
    typealias Project = WorkerConfiguration.Project

    var added: [Project] = []
    /// The ids of projects that are drained and closed.
    var removed: [String] = []
    /// Projects that are drained and then opened under the new settings: another credential, transport or address.
    var reopened: [Project] = []
    /// Projects that differ in the pace of their sends only. They continue without a drain.
    var updated: [Project] = []

    /// - Parameters:
    ///   - running: the projects as they run now.
    ///   - target: the projects as the new configuration describes them.
    init(running: [Project], target: [Project]) {
        let byID = Dictionary(running.map { ($0.id, $0) }) { first, _ in first }
        for project in target {
            guard let old = byID[project.id] else {
                added.append(project)
                continue
            }
            guard old != project else { continue }
            if old.paced(like: project) == project { updated.append(project) } else { reopened.append(project) }
        }
        let wanted = Set(target.map(\.id))
        removed = running.map(\.id).filter { !wanted.contains($0) }
    }

    var isEmpty: Bool { added.isEmpty && removed.isEmpty && reopened.isEmpty && updated.isEmpty }
}

extension WorkerConfiguration.Project {
    /// The project with the other's settings of the pace, which each claim and each hand-over reads.
    fileprivate func paced(like other: Self) -> Self {
        var copy = self
        copy.settings.quotaPerMinute = other.settings.quotaPerMinute
        copy.settings.activeFanouts = other.settings.activeFanouts
        copy.settings.fanoutRate = other.settings.fanoutRate
        copy.settings.topics = other.settings.topics
        copy.settings.smear = other.settings.smear
        return copy
    }
}

extension WorkerConfiguration {
    /// The keys of the settings that differ and keep their values until the worker restarts.
    static func restartKeys(_ running: Configuration, _ new: Configuration) -> [String] {
        var (left, right) = (running, new)
        var keys: [String] = []
        func compare<Value: Equatable>(_ key: String, _ member: WritableKeyPath<Configuration, Value>) {
            if left[keyPath: member] != right[keyPath: member] { keys.append(key) }
            right[keyPath: member] = left[keyPath: member]
        }
        compare("redis", \.redis)
        compare("prefix", \.prefix)
        compare("tls.ca_file", \.caFile)
        compare("proxy", \.proxy)
        compare("proxy_user", \.proxyUser)
        compare("proxy_password_file", \.proxyPasswordFile)
        compare("log", \.log)
        compare("admin", \.admin)
        compare("backlog_limit", \.backlogLimit)
        compare("token_index", \.tokenIndex)
        compare("retention", \.retention)
        compare("worker", \.worker)
        compare("telemetry", \.telemetry)
        // Taken up with the projects, or not used by a worker.
        (left.projects, left.projectsFolder, left.allowedHosts, left.httpEngine) = (
            right.projects, right.projectsFolder, right.allowedHosts, right.httpEngine
        )
        (left.warnings, left.file, left.gateway) = (right.warnings, right.file, right.gateway)
        return left == right ? keys : keys + ["other settings"]
    }

    /// The keys of all that differs and keeps its value until the worker restarts: settings, and files with another
    /// content than at the start.
    func restartKeys(_ new: WorkerConfiguration) -> [String] {
        let keys = Self.restartKeys(settings, new.settings)
        // The key of a section stands for its files, too.
        let files = startContents.keys.filter { file in
            new.startContents[file] != startContents[file] && !keys.contains { file.hasPrefix($0) }
        }
        return keys + files.sorted()
    }
}
