internal import FanfareModel
internal import Yams

/// A YAML file, flattened to the paths of settings, with the line of every value and all problems.
struct ConfigurationFile {
    static let maximumBytes = 1 << 20
    static let maximumProjects = 1_000
    /// The longest key that messages show. A longer one is neither a setting nor a project id; it may be a misplaced
    /// secret.
    static let longestKey = 64

    private(set) var values: [String: SourcedValue] = [:]
    private(set) var projects: [String] = []
    private(set) var problems: [String] = []
    private let tree = SettingTree()

    init(yaml: String) {
        do {
            guard let node = try Yams.compose(yaml: yaml) else { return }
            guard case .mapping(let mapping) = node else {
                // A file of comments only composes to an empty scalar.
                if case .scalar(let scalar) = node, scalar.string.isEmpty { return }
                problems.append("the document must be a mapping of keys to values")
                return
            }
            collect(mapping, at: [])
        } catch {
            problems.append(Self.describe(error))
        }
    }

    private mutating func collect(_ mapping: Node.Mapping, at path: [String]) {
        for (key, node) in mapping {
            guard case .scalar(let name) = key else {
                problems.append("\(Self.joined(path))\(Self.line(key)): a key must be plain text")
                continue
            }
            guard name.string.utf8.count <= Self.longestKey else {
                let place = path.isEmpty ? "the document" : Self.joined(path)
                problems.append("\(place)\(Self.line(key)): a key longer than \(Self.longestKey) bytes")
                continue
            }
            collect(node, at: path + [name.string], line: Self.line(key))
        }
    }

    private mutating func collect(_ node: Node, at path: [String], line: String) {
        let name = Self.joined(path)
        switch tree.place(of: path) {
        case .unknown(let nearest):
            let hint = nearest.map { "; did you mean \($0)?" } ?? ""
            problems.append("\(name)\(line): unknown key\(hint)")
        case .projects: collectProjects(node, at: path, line: line)
        case .section:
            if case .mapping(let mapping) = node {
                collect(mapping, at: path)
            } else if !Self.isNull(node) {
                problems.append("\(name)\(line): must be a mapping of keys to values")
            }
        case .setting(let setting): readValue(node, setting, at: path, line: line)
        }
    }

    private mutating func collectProjects(_ node: Node, at path: [String], line: String) {
        guard case .mapping(let mapping) = node else {
            if !Self.isNull(node) { problems.append("projects\(line): must be a mapping of project ids") }
            return
        }
        guard mapping.count <= Self.maximumProjects else {
            problems.append("projects\(line): \(mapping.count) projects, at most \(Self.maximumProjects)")
            return
        }
        for (key, member) in mapping {
            guard case .scalar(let scalar) = key, ProjectID.isValid(scalar.string) else {
                problems.append("projects\(Self.line(key)): a project id must match \(ProjectID.pattern)")
                continue
            }
            projects.append(scalar.string)
            collect(member, at: path + [scalar.string], line: Self.line(key))
        }
    }

    private mutating func readValue(_ node: Node, _ setting: Setting, at path: [String], line: String) {
        let name = Self.joined(path)
        let source = SourcedValue.Source.file(line: node.mark?.line ?? 0)
        switch (setting.kind, node) {
        case (_, _) where Self.isNull(node): problems.append("\(name)\(line): no value")
        case (.hosts, .sequence(let sequence)):
            let texts = sequence.compactMap(\.scalar?.string)
            if texts.count < sequence.count { problems.append("\(name)\(line): must be a list of plain text") }
            values[name] = SourcedValue(texts: texts, source: source)
        case (.sizes, .mapping(let mapping)):
            var texts: [String] = []
            for (key, value) in mapping {
                guard case .scalar(let topic) = key, case .scalar(let size) = value else {
                    problems.append("\(name)\(Self.line(key)): must be topics and numbers")
                    continue
                }
                // No topic holds an equals sign, and `topic=size` is split at it.
                guard !topic.string.contains("=") else {
                    problems.append("\(name)\(Self.line(key)): \(ValueRules.shown(topic.string)) is no topic")
                    continue
                }
                texts.append("\(topic.string)=\(size.string)")
            }
            values[name] = SourcedValue(texts: texts, source: source)
        case (.sizes, _): problems.append("\(name)\(line): must be a mapping of topics to numbers")
        case (.hosts, _): problems.append("\(name)\(line): must be a list")
        case (_, .scalar(let scalar)): values[name] = SourcedValue(texts: [scalar.string], source: source)
        // JSON that was pasted without quotes parses as a mapping.
        case (.file, _): problems.append("\(name)\(line): \(ConfiguredFile.contentSentence)")
        default: problems.append("\(name)\(line): must be one value")
        }
    }

    // MARK: Messages

    private static func joined(_ path: [String]) -> String { path.joined(separator: ".") }

    private static func line(_ node: Node) -> String { node.mark.map { " (line \($0.line))" } ?? "" }

    private static func isNull(_ node: Node) -> Bool {
        guard case .scalar(let scalar) = node, scalar.style == .plain else { return false }
        return ["", "~", "null", "Null", "NULL"].contains(scalar.string)
    }

    /// The error without Yams' excerpt of the line, which may hold a password.
    private static func describe(_ error: any Error) -> String {
        guard let error = error as? YamlError else { return "not YAML: \(error)" }
        switch error {
        case .scanner(_, let problem, let mark, _), .parser(_, let problem, let mark, _),
            .composer(_, let problem, let mark, _):
            return "not YAML: line \(mark.line): \(problem)"
        case .reader(let problem, _, _, _): return "not YAML: \(problem)"
        case .duplicatedKeysInMapping(let duplicates, _):
            return "key given twice: \(duplicates.map { ValueRules.shown("\($0)") }.sorted().joined(separator: ", "))"
        default: return "not YAML"
        }
    }
}
