internal import FanfareModel
internal import YAMLKit

/// A YAML file, flattened to the paths of settings, with the line of every value and all faults.
struct ConfigurationFile {
    static let maximumBytes = 1 << 20
    static let maximumProjects = 1_000
    /// The longest key that messages show. A longer one is neither a setting nor a project id; it may be a misplaced
    /// secret.
    static let longestKey = 64
    /// Keys of the document that begin so are the operator's own: a place for anchors.
    static let ownPrefix = "x-"

    private(set) var values: [String: SourcedValue] = [:]
    private(set) var projects: [String] = []
    private(set) var faults: [String] = []
    private let tree = SettingTree()
    /// The file of `projects_dir` that is being collected; nil for the configuration file.
    private var projectFile: ProjectFile?
    /// Where the configuration file names each project.
    private var projectLines: [String: String] = [:]

    init(yaml: String) {
        do {
            guard let node = try YAMLReader.read(yaml), !Self.isNull(node) else { return }
            guard case .mapping(let mapping, _) = node else {
                faults.append("the document must be a mapping of keys to values")
                return
            }
            collect(mapping, at: [])
        } catch {
            faults.append(Self.describe(error))
        }
    }

    /// Adds a file of `projects_dir`: the settings of the project that its name says.
    mutating func add(_ file: ProjectFile) {
        let name = "projects.\(file.project) (\(file.name))"
        if let line = projectLines[file.project] {
            faults.append("\(name): the configuration file has this project, too\(line); remove one of them")
            return
        }
        guard projects.count < Self.maximumProjects else {
            faults.append("projects_dir: more than \(Self.maximumProjects) projects")
            return
        }
        projects.append(file.project)
        projectFile = file
        defer { projectFile = nil }
        do {
            // A file of comments only leaves the project its defaults.
            guard let node = try YAMLReader.read(file.yaml), !Self.isNull(node) else { return }
            guard case .mapping(let mapping, _) = node else {
                faults.append("\(name): must be a mapping of the project's settings to values")
                return
            }
            collect(mapping, at: ["projects", file.project])
        } catch {
            faults.append("\(name): \(Self.describe(error))")
        }
    }

    /// Adds faults of files that cannot be read.
    mutating func refuse(_ more: [String]) { faults += more }

    private mutating func collect(_ mapping: [YAMLNode.Member], at path: [String]) {
        for member in mapping {
            let key = member.key
            guard let name = key.text else {
                faults.append("\(Self.joined(path))\(place(of: key)): a key must be plain text")
                continue
            }
            if path.isEmpty, name.hasPrefix(Self.ownPrefix) { continue }
            guard name.utf8.count <= Self.longestKey else {
                let section = path.isEmpty ? "the document" : Self.joined(path)
                faults.append("\(section)\(place(of: key)): a key longer than \(Self.longestKey) bytes")
                continue
            }
            collect(member.value, at: path + [name], line: place(of: key))
        }
    }

    private mutating func collect(_ node: YAMLNode, at given: [String], line: String) {
        let path = Settings.former[Self.joined(given)]?.split(separator: ".").map(String.init) ?? given
        let name = Self.joined(path)
        if values[name] != nil {
            // YAML itself refuses a key that is given twice: one of the two is the former name.
            faults.append("\(Self.joined(given))\(line): also given under its other name; remove one of them")
            return
        }
        switch tree.place(of: path) {
        case .unknown(let nearest):
            let hint = nearest.map { "; did you mean \($0)?" } ?? ""
            faults.append("\(name)\(line): unknown key\(hint)")
        case .projects: collectProjects(node, at: path, line: line)
        case .section:
            if case .mapping(let mapping, _) = node {
                collect(mapping, at: path)
            } else if !Self.isNull(node) {
                faults.append("\(name)\(line): must be a mapping of keys to values")
            }
        case .setting(let setting): readValue(node, setting, at: path, line: line)
        }
    }

    private mutating func collectProjects(_ node: YAMLNode, at path: [String], line: String) {
        guard case .mapping(let mapping, _) = node else {
            if !Self.isNull(node) { faults.append("projects\(line): must be a mapping of project ids") }
            return
        }
        guard mapping.count <= Self.maximumProjects else {
            faults.append("projects\(line): \(mapping.count) projects, at most \(Self.maximumProjects)")
            return
        }
        for member in mapping {
            guard let id = member.key.text, ProjectID.isValid(id) else {
                faults.append("projects\(place(of: member.key)): a project id must match \(ProjectID.pattern)")
                continue
            }
            projects.append(id)
            projectLines[id] = place(of: member.key)
            collect(member.value, at: path + [id], line: place(of: member.key))
        }
    }

    private mutating func readValue(_ node: YAMLNode, _ setting: Setting, at path: [String], line: String) {
        let name = Self.joined(path)
        let number = node.line
        let source: SourcedValue.Source =
            projectFile.map { .projectFile(name: $0.name, folder: $0.folder, line: number) } ?? .file(line: number)
        switch (setting.kind, node) {
        case (_, _) where Self.isNull(node): faults.append("\(name)\(line): no value")
        case (.hosts, .sequence(let sequence, _)):
            let texts = sequence.compactMap(\.text)
            if texts.count < sequence.count { faults.append("\(name)\(line): must be a list of plain text") }
            values[name] = SourcedValue(texts: texts, source: source)
        case (.sizes, .mapping(let mapping, _)):
            var texts: [String] = []
            for member in mapping {
                guard let topic = member.key.text, let size = member.value.text else {
                    faults.append("\(name)\(place(of: member.key)): must be topics and numbers")
                    continue
                }
                // No topic holds an equals sign, and `topic=size` is split at it.
                guard !topic.contains("=") else {
                    faults.append("\(name)\(place(of: member.key)): \(ValueRules.shown(topic)) is no topic")
                    continue
                }
                texts.append("\(topic)=\(size)")
            }
            values[name] = SourcedValue(texts: texts, source: source)
        case (.sizes, _): faults.append("\(name)\(line): must be a mapping of topics to numbers")
        case (.hosts, _): faults.append("\(name)\(line): must be a list")
        case (_, .scalar(let scalar)): values[name] = SourcedValue(texts: [scalar.text], source: source)
        // JSON that was pasted without quotes parses as a mapping.
        case (.file, _): faults.append("\(name)\(line): \(ConfiguredFile.contentSentence)")
        default: faults.append("\(name)\(line): must be one value")
        }
    }

    // MARK: Messages

    private static func joined(_ path: [String]) -> String { path.joined(separator: ".") }

    private func place(of node: YAMLNode) -> String {
        let name = projectFile.map { "\($0.name) " } ?? ""
        return " (\(name)line \(node.line))"
    }

    static func isNull(_ node: YAMLNode) -> Bool {
        guard case .scalar(let scalar) = node, scalar.isPlain else { return false }
        return ["", "~", "null", "Null", "NULL"].contains(scalar.text)
    }

    static func describe(_ error: YAMLError) -> String {
        switch error {
        case .syntax(let fault, let line): return "not YAML: \(line.map { "line \($0): " } ?? "")\(fault)"
        case .keysGivenTwice(let keys):
            return "key given twice: \(keys.map { ValueRules.shown($0) }.sorted().joined(separator: ", "))"
        case .tooLarge: return "not a configuration: too many keys, or keys too deep"
        }
    }
}
