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
        let project = try resolve(configuration.projects.map(\.id), pushes: pushes)
        try await RedisSession.run(configuration) { client in
            try await body(ProjectSession(client: client, project: project, prefix: configuration.prefix))
        }
    }

    private func resolve(_ configured: [String], pushes: Bool) throws -> String {
        let known = configured.joined(separator: ", ")
        guard let project else {
            if configured.count == 1 { return configured[0] }
            throw Outcome.usage.because("name the project with --project" + (known.isEmpty ? "" : " (\(known))"))
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
