internal import FanfareConfiguration

/// Where a command's configuration comes from. A worker reads it again while it runs.
struct ConfigurationSource: Sendable {
    /// The path of the configuration file; nil for none.
    let file: String?
    /// The flag or variable that names the file; the file itself if it was found in its usual place.
    let name: String
    let environment: [String: String]
    /// Values of flags, by the paths of settings.
    let flags: [String: String]

    /// - Parameter omitted: projects whose files in `projects_dir` are not read.
    func load(omitting omitted: Set<String> = []) throws(ConfigurationError) -> Configuration {
        do throws(ConfigurationError) {
            return try Configuration.load(
                file: file,
                source: name,
                environment: environment,
                flags: flags,
                omitting: omitted
            )
        } catch {
            guard let file, file == name else { throw error }
            // The user did not name the file.
            throw ConfigurationError(
                faults: error.faults,
                warnings: error.warnings,
                hint: "read from \(file); -c names another file"
            )
        }
    }
}
