internal import FanfareConfiguration
internal import RedisTransport

/// A whole state of the configuration: settings, the files that they name, and the address of Redis, checked as
/// `fanfare config check` does.
struct LoadedState: Sendable {
    var configuration: Configuration
    var secrets: Secrets
    let redis: RedisDeployment
    /// The faults of projects whose files in `projects_dir` are refused. These projects stay as they were.
    private(set) var refused: [String: [String]] = [:]

    /// - Parameters:
    ///   - omitted: projects whose files in `projects_dir` are not read.
    ///   - running: the configuration that is replaced; nil at the start of a worker. A credential file that it names may
    ///     be gone, and a metadata server that a project newly relies on must answer.
    ///   - parsed: called with the configuration before the files that it names are opened.
    init(
        _ source: ConfigurationSource,
        omitting omitted: Set<String> = [],
        replacing running: Configuration? = nil,
        parsed: (Configuration) -> Void = { _ in }
    ) throws(ConfigurationError) {
        configuration = try source.load(omitting: omitted)
        parsed(configuration)
        secrets = try configuration.loadCheckedSecrets(replacing: running)
        if let running { try configuration.confirmMetadataServer(secrets, replacing: running) }
        redis = try configuration.deployment(secrets.redis)
    }

    /// Reads the state that a worker starts with: every fault is an error.
    ///
    /// - Returns: the state, and the watched files as they were before they were read.
    static func first(_ source: ConfigurationSource) throws(ConfigurationError) -> (LoadedState, WatchedFiles) {
        var paths = Set(source.file.map { [$0] } ?? [])
        while true {
            let files = WatchedFiles(paths)
            let state = try LoadedState(source)
            let named = state.configuration.watchedPaths
            guard !paths.isSuperset(of: named) else { return (state, files) }
            paths.formUnion(named)
        }
    }

    /// The result of reading the configuration again.
    struct Attempt {
        let result: Result<LoadedState, ConfigurationError>
        /// The watched files as they were before they were read, the files of a refused state included.
        let files: WatchedFiles
    }

    /// Reads the state that replaces this one. A refused file of `projects_dir` leaves its project as it is.
    func next(_ source: ConfigurationSource) -> Attempt {
        var paths = configuration.watchedPaths
        while true {
            let files = WatchedFiles(paths)
            var attempted: Set<String> = []
            let result: Result<LoadedState, ConfigurationError>
            do throws(ConfigurationError) {
                let loaded = try Configuration.loadAccepted { omitted throws(ConfigurationError) -> LoadedState in
                    try LoadedState(source, omitting: omitted, replacing: configuration) {
                        attempted.formUnion($0.watchedPaths)
                    }
                }
                var state = loaded.state
                state.keep(loaded.refused, of: self)
                result = .success(state)
            } catch {
                result = .failure(error)
            }
            // Read once more if the state names files whose identity was not known before they were read.
            guard !paths.isSuperset(of: attempted) else { return Attempt(result: result, files: files) }
            paths.formUnion(attempted)
        }
    }

    /// Copies the projects whose files are refused from the state that is replaced.
    private mutating func keep(_ refused: [String: [String]], of old: LoadedState) {
        self.refused = refused
        for id in refused.keys {
            guard let project = old.configuration.projects.first(where: { $0.id == id }) else { continue }
            configuration.projects.removeAll { $0.id == id }
            configuration.projects.append(project)
            secrets.copy(id, from: old.secrets)
        }
        configuration.projects.sort { $0.id < $1.id }
    }
}
