internal import FanfareConfiguration
internal import FanfareModel

extension Check {
    /// Whether the files that the configuration names exist, are well-formed and are private. Finds one line for each
    /// project's credentials, and one for each other file with a problem.
    static let files = Check("configuration") { subject, report in
        let configuration = subject.configuration
        for warning in configuration.warnings {
            report.warn(warning, "correct the configuration; `fanfare config check` checks only it")
        }
        var others: [Finding] = []
        for project in configuration.projects {
            report.check = "credentials of \(project.id)"
            // Problems of shared files are found with every project; report each once.
            let found = configuration.with(only: project).findingsOfFiles()
            let own = found.filter { $0.text.hasPrefix("projects.") }
            for finding in own { report.add(finding.severity, finding.text, finding.remedy) }
            others += found.filter { !own.contains($0) && !others.contains($0) }
            if report.isEmpty {
                let file = project.transport == .v1 ? project.credentials : project.serverKeyFile
                report.ok("\(file.map { "\($0)" } ?? "none"): the file is valid")
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
        return copy
    }

    fileprivate func findingsOfFiles() -> [Finding] {
        var report = Report("files")
        do throws(ConfigurationError) {
            for warning in try loadCheckedSecrets().warnings { report.warn(warning, "chmod 600 the file") }
        } catch {
            for problem in error.problems {
                report.fail(problem, "correct the path or the file; the workers' user must be able to read it")
            }
        }
        return report.findings
    }
}
