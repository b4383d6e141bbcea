internal import FCMWire
internal import FanfareConfiguration
internal import FanfareModel

extension Check {
    /// Whether the files that the configuration names exist, are well-formed and are private. Finds one line for each
    /// project's credentials, and one for each other file with a fault.
    static let files = Check("configuration") { subject, report in
        let configuration = subject.configuration
        if let file = configuration.file { report.ok("read from \(file)") }
        for warning in configuration.warnings {
            report.warn(warning, "correct the configuration; `fanfare config check` checks only it")
        }
        var others: [Finding] = []
        for project in configuration.projects {
            report.check = "credentials of \(project.id)"
            // Faults of shared files are found with every project; report each once.
            let found = configuration.with(only: project).findingsOfFiles()
            let own = found.filter { $0.text.hasPrefix("projects.") }
            for finding in own { report.add(finding.severity, finding.text, finding.remedy) }
            others += found.filter { !own.contains($0) && !others.contains($0) }
            if report.isEmpty {
                switch (project.traits.identity, project.credentials) {
                case (.accessToken, .file(let file)):
                    report.ok("\(file): the file is valid\(configuration.kind(of: project))")
                case (.accessToken, _): report.ok("the metadata server")
                default: report.ok("\(project.serverKeyFile.map { "\($0)" } ?? "none"): the file is valid")
                }
            }
        }
        if configuration.projects.isEmpty {
            report.check = "credentials"
            report.warn("no project is configured", "name projects in the configuration, and pass it with -c")
        }
        report.findings += others
    }
}

extension Configuration {
    func with(only project: Project) -> Configuration {
        var copy = self
        copy.projects = [project]
        // They are found once, not with each project.
        copy.warnings = []
        return copy
    }

    /// `, external_account`; empty for a service account's key, the usual kind.
    fileprivate func kind(of project: Project) -> String {
        let credential = (try? with(only: project).loadSecrets())?.credentials[project.id]
        guard let kind = credential?.kind, kind != .serviceAccount else { return "" }
        return ", \(kind.rawValue)"
    }

    fileprivate func findingsOfFiles() -> [Finding] {
        var report = Report("files")
        do throws(ConfigurationError) {
            for concern in try loadCheckedSecrets().concerns { report.warn(concern.text, concern.remedy) }
        } catch {
            for warning in error.warnings { report.warn(warning, "correct the setting or the file") }
            for fault in error.faults {
                let remedy = "correct the path or the file; the workers' user must be able to read it"
                report.fail(fault, error.hint.map { "\($0); else \(remedy)" } ?? remedy)
            }
        }
        return report.findings
    }
}
