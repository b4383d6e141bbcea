internal import ArgumentParser
internal import FanfareConfiguration
internal import FanfareModel

/// `--project`, optional if the configuration has exactly one project.
struct ProjectOption: ParsableArguments {
    @Option(
        help: .value("id", "The project; optional if the configuration has exactly one."),
        completion: Completion.projects
    )
    var project: String?

    /// Connects and runs the body on the project.
    /// - Parameter pushes: warns if the configuration does not have the project: workers with another configuration may
    ///   serve it, or it is misspelt and its jobs would wait forever.
    func connect(
        _ options: ConfigurationOptions,
        pushes: Bool = false,
        _ body: (ProjectSession) async throws -> Void
    ) async throws {
        let configuration = try options.load()
        let project = try resolve(configuration, pushes: pushes)
        try await RedisSession.run(configuration) { client in
            let settings = configuration.projects.first { $0.id == project }
            let prefix = configuration.prefix
            try await body(ProjectSession(client: client, project: project, prefix: prefix, settings: settings))
        }
    }

    /// The project that the option names, or the only one of the configuration; nil without either.
    func chosen(_ configuration: Configuration) throws -> String? {
        guard project == nil else { return try resolve(configuration, pushes: false) }
        return configuration.projects.count == 1 ? configuration.projects[0].id : nil
    }

    private func resolve(_ configuration: Configuration, pushes: Bool) throws -> String {
        let configured = configuration.projects.map(\.id)
        let known = configured.joined(separator: ", ")
        guard let project else {
            if configured.count == 1 { return configured[0] }
            let hint = known.isEmpty ? ConfigurationOptions.hint(configuration) : " (\(known))"
            throw Outcome.usage.because("name the project with --project" + hint)
        }
        guard ProjectID.isValid(project) else {
            throw Outcome.usage.because("--project must match \(ProjectID.pattern)")
        }
        if pushes, !configured.isEmpty, !configured.contains(project) {
            ConfigurationOptions.warn([
                "the configuration has no project \(project), only \(known): unless other workers serve it, its jobs wait"
            ])
        }
        return project
    }
}
