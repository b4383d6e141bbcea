internal import FanfareConfiguration
internal import FanfareModel

extension Check {
    /// The files that the configuration names: there, well-formed, and for nobody else's eyes. One finding for each
    /// project's credentials, and one for each other file with which something is wrong.
    static let files = Check { subject in
        let configuration = subject.configuration
        var findings = configuration.warnings.map {
            Finding.warn("configuration", $0, "mend the configuration; `fanfare config check` reads it alone")
        }
        var others: [Finding] = []
        for project in configuration.projects {
            var one = configuration
            one.projects = [project]
            let found = one.findingsOfFiles()
            let own = found.filter { $0.text.hasPrefix("projects.") }
            // What all projects share is found with each of them.
            for finding in found where !own.contains(finding) && !others.contains(finding) { others.append(finding) }
            let file = project.transport == .v1 ? project.credentials : project.serverKeyFile
            findings += own.map {
                Finding(check: name(project), severity: $0.severity, text: $0.text, remedy: $0.remedy)
            }
            if own.isEmpty {
                findings.append(.ok(name(project), "\(file.map { "\($0)" } ?? "none"): the file is fine"))
            }
        }
        if configuration.projects.isEmpty {
            let remedy = "name projects in the configuration, which a worker needs; this command takes it with -c"
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
                .warn("files", $0, "take the rights of all others from the file")
            }
        } catch {
            return error.problems.map {
                .fail("files", $0, "mend the path or the file; the user that runs workers must be able to read it")
            }
        }
    }
}
