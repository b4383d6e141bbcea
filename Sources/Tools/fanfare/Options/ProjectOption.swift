internal import ArgumentParser
internal import FanfareConfiguration
internal import FanfareModel

/// `--project`, optional if the configuration has exactly one project.
struct ProjectOption: ParsableArguments {
    @Option(
        help: ArgumentHelp("The project; optional if the configuration has exactly one.", valueName: "id"),
        completion: Completion.projects
    )
    var project: String?

    func resolve(_ configuration: Configuration) throws -> String {
        if let project {
            guard ProjectID.isValid(project) else {
                throw Outcome.usage.because("--project must match \(ProjectID.pattern)")
            }
            return project
        }
        if configuration.projects.count == 1 { return configuration.projects[0].id }
        let known = Self.names(configuration)
        throw Outcome.usage.because("name the project with --project" + (known.isEmpty ? "" : " (\(known))"))
    }

    /// Resolves the project of a command that pushes a job. Warns if the configuration does not have it: workers with
    /// another configuration may serve it, or it is misspelt and its jobs would wait forever.
    func resolveToPush(_ configuration: Configuration) throws -> String {
        let project = try resolve(configuration)
        if !configuration.projects.isEmpty, !configuration.projects.contains(where: { $0.id == project }) {
            let known = Self.names(configuration)
            ConfigurationOptions.warn([
                "the configuration has no project \(project), only \(known): unless other workers serve it, its jobs wait"
            ])
        }
        return project
    }

    private static func names(_ configuration: Configuration) -> String {
        configuration.projects.map(\.id).joined(separator: ", ")
    }
}
