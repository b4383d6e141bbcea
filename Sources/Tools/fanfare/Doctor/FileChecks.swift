internal import FanfareConfiguration
internal import FanfareModel

extension Check {
    /// Whether the files that the configuration names exist, are well-formed and are private. Finds one line for each
    /// project's credentials, and one for each other file with a problem.
    static let files = Check { subject in
        let configuration = subject.configuration
        var findings = configuration.warnings.map {
            Finding.warn("configuration", $0, "correct the configuration; `fanfare config check` checks only it")
        }
        var others: [Finding] = []
        for project in configuration.projects {
            var one = configuration
            one.projects = [project]
            let found = one.findingsOfFiles()
            let own = found.filter { $0.text.hasPrefix("projects.") }
            // Problems of shared files are found with every project; report each once.
            for finding in found where !own.contains(finding) && !others.contains(finding) { others.append(finding) }
            let file = project.transport == .v1 ? project.credentials : project.serverKeyFile
            findings += own.map {
                Finding(check: name(project), severity: $0.severity, text: $0.text, remedy: $0.remedy)
            }
            if own.isEmpty {
                findings.append(.ok(name(project), "\(file.map { "\($0)" } ?? "none"): the file is valid"))
            }
        }
        if configuration.projects.isEmpty {
            let remedy = "name projects in the configuration, and pass it with -c"
            findings.append(.warn("credentials", "no project is configured", remedy))
        }
        return findings + others
    }

    private static func name(_ project: Configuration.Project) -> String { "credentials of \(project.id)" }
}

extension Configuration {
    fileprivate func findingsOfFiles() -> [Finding] {
        do throws(ConfigurationError) {
            return try loadCheckedSecrets().warnings.map {
                .warn("files", $0, "chmod 600 the file")
            }
        } catch {
            return error.problems.map {
                .fail("files", $0, "correct the path or the file; the workers' user must be able to read it")
            }
        }
    }
}
