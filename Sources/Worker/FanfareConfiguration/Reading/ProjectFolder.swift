internal import FanfareModel

/// A file of `projects_dir`, which holds the settings of the project that its name says.
struct ProjectFile: Equatable, Sendable {
    let project: String
    /// The name without its folder, such as `shop.yaml`.
    let name: String
    /// The folder that paths in the file start from, ending with a slash.
    let folder: String
    let yaml: String
}

/// Reads the folder `projects_dir`: `ID.yaml` holds the settings of project `ID`. Hidden files are ignored, any other
/// entry is named in a warning.
public enum ProjectFolder {
    struct Content {
        var files: [ProjectFile] = []
        var faults: [String] = []
        var warnings: [String] = []
    }

    static let maximumBytes = 65_536
    /// Entries of the folder, hidden ones included.
    static let maximumEntries = 5_000
    /// Entries that warnings name.
    private static let maximumWarnings = 5
    private static let suffix = ".yaml"

    /// - Parameter omitted: projects whose files are not read.
    /// - Throws: why the folder cannot be read.
    static func read(_ folder: ConfiguredFile, omitting omitted: Set<String>) throws(ConfigurationError) -> Content {
        let path = folder.path.hasSuffix("/") ? folder.path : folder.path + "/"
        let names = try folder.entries(limit: maximumEntries)
        var content = Content()
        var others: [String] = []
        for name in names.sorted() where !name.hasPrefix(".") {
            guard let project = project(of: name) else {
                others.append(name)
                continue
            }
            guard !omitted.contains(project) else { continue }
            let file = ConfiguredFile(name: "projects.\(project) (\(name))", path: path + name)
            do throws(ConfigurationError) {
                let bytes = try file.read(limit: maximumBytes).bytes
                guard let yaml = String(validating: bytes, as: UTF8.self) else { throw file.fault("not UTF-8") }
                content.files.append(ProjectFile(project: project, name: name, folder: path, yaml: yaml))
            } catch {
                content.faults += error.faults
            }
        }
        for name in others.prefix(maximumWarnings) {
            content.warnings.append(
                "\(folder): \(ValueRules.shown(name)) is ignored: the file of a project is named ID.yaml, and an id matches "
                    + ProjectID.pattern
            )
        }
        if others.count > maximumWarnings {
            content.warnings.append("\(folder): \(others.count - maximumWarnings) more entries are ignored")
        }
        return content
    }

    /// The paths of the projects' files in a folder; empty if it cannot be read. Any other entry may change at any time
    /// without an effect.
    public static func files(in folder: String) -> [String] {
        let path = folder.hasSuffix("/") ? folder : folder + "/"
        let names = ConfiguredFile.entries(of: path, limit: maximumEntries) ?? []
        return names.filter { project(of: $0) != nil }.map { path + $0 }
    }

    private static func project(of name: String) -> String? {
        guard name.hasSuffix(suffix) else { return nil }
        let id = String(name.dropLast(suffix.count))
        return ProjectID.isValid(id) ? id : nil
    }
}
