internal import Glibc

extension Configuration {
    /// The paths whose change a running worker notices: the configuration file, `projects_dir`, and every file that the
    /// settings name.
    public var watchedPaths: Set<String> {
        let files = Array(startFiles.values) + [redis.certificateFile, redis.keyFile, projectsFolder].compactMap { $0 }
        return credentialPaths.union(files.map(\.path)).union(file.map { [$0] } ?? [])
    }

    /// The files that a worker reads at its start only, by their settings. The client certificate and its key are not
    /// among them: each connection to Redis reads them.
    var startFiles: [String: ConfiguredFile] {
        let files = [
            "redis.password_file": redis.passwordFile, "redis.sentinel_password_file": redis.sentinelPasswordFile,
            "proxy_password_file": proxyPasswordFile, "tls.ca_file": caFile, "admin.token_file": admin.tokenFile,
            "telemetry.headers_file": telemetry.headersFile,
        ]
        return files.compactMapValues { $0 }
    }

    /// The paths of the projects' credential files and server keys.
    var credentialPaths: Set<String> {
        Set(projects.compactMap { $0.secretFile?.path })
    }

    /// Loads a state, and where files of `projects_dir` are refused, the state without them.
    ///
    /// - Parameter load: loads the state, without the files of these projects.
    /// - Returns: the state, and the faults of each project whose file is refused.
    /// - Throws: the faults of the whole state, if one of them is not a file's of `projects_dir`.
    public static func loadAccepted<State>(
        _ load: (_ omitted: Set<String>) throws(ConfigurationError) -> State
    ) throws(ConfigurationError) -> (state: State, refused: [String: [String]]) {
        var refused: [String: [String]] = [:]
        while true {
            do throws(ConfigurationError) {
                return (try load(Set(refused.keys)), refused)
            } catch {
                let found = Dictionary(grouping: error.faults, by: { project(of: $0) ?? "" })
                // A fault that no file of `projects_dir` has, or that stays without the file.
                guard found[""] == nil, found.keys.allSatisfy({ refused[$0] == nil }) else {
                    let earlier = refused.keys.sorted().flatMap { refused[$0] ?? [] }
                    throw ConfigurationError(
                        faults: earlier.filter { !error.faults.contains($0) } + error.faults,
                        warnings: error.warnings,
                        hint: error.hint
                    )
                }
                refused.merge(found) { first, _ in first }
            }
        }
    }

    /// The project whose file of `projects_dir` may have a fault: one of the file, such as
    /// `projects.shop.endpoint (shop.yaml line 2): …`, or one that names no source, such as
    /// `projects.shop.credentials: none named`. nil for a fault of another source.
    private static func project(of fault: String) -> String? {
        guard let id = fault.prefixMatch(of: #/projects\.([a-z0-9-]+)/#)?.1 else { return nil }
        let hasSource = fault.prefix { $0 != ":" }.contains("(")
        return !hasSource || fault.contains(" (\(id).yaml") ? String(id) : nil
    }
}
