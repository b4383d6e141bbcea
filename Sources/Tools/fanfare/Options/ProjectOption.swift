internal import ArgumentParser
internal import FanfareConfiguration
internal import FanfareModel
internal import RedisTransport

/// `--project`, optional if the configuration has exactly one project.
struct ProjectOption: ParsableArguments {
    @Option(
        help: .value("id", "The project; optional if the configuration has exactly one."),
        completion: Completion.projects
    )
    var project: String?

    /// Connects and runs the body on the project.
    /// - Parameter force: for a command that pushes: unless true, refuses a project that neither the configuration nor a worker
    ///   knows.
    func connect(
        _ options: ConfigurationOptions,
        force: Bool? = nil,
        _ body: (ProjectSession) async throws -> Void
    ) async throws {
        let configuration = try options.load()
        let project = try resolve(configuration)
        try await RedisSession.run(configuration) { client in
            let session = Self.session(client, project, configuration)
            if let force {
                let known = KnownProject(session: session, configured: configuration.projects.map(\.id))
                if force { known.warn() } else { try await known.require() }
            }
            try await body(session)
        }
    }

    static func session(_ client: RedisClient, _ project: String, _ configuration: Configuration) -> ProjectSession {
        let settings = configuration.projects.first { $0.id == project }
        return ProjectSession(client: client, project: project, prefix: configuration.prefix, settings: settings)
    }

    /// The project that the option names, or the only one of the configuration; nil without either.
    func chosen(_ configuration: Configuration) throws -> String? {
        guard project == nil else { return try resolve(configuration) }
        return configuration.projects.count == 1 ? configuration.projects[0].id : nil
    }

    func resolve(_ configuration: Configuration) throws -> String {
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
        return project
    }
}
