internal import FanfareModel

/// A commented configuration file, generated from the table of all settings: some have a value, all others are comments
/// that show their default.
public struct ConfigurationTemplate: Sendable {
    /// Printed at the head of the file, one line each.
    private let notes: [String]
    private let project: String
    /// Values of the settings that the file sets, by path.
    private let values: [String: String]
    /// A sentence for the help of a setting, by path.
    private let hints: [String: String]

    private static let width = 100
    /// The sections at the beginning; all others follow in the order of the table.
    private static let firstSections = ["redis", "projects", "tls"]

    /// The file of a project that sends to FCM.
    public static func live(project: String) -> ConfigurationTemplate {
        ConfigurationTemplate(
            notes: [],
            project: project,
            values: ["projects.*.credentials": "service-account.json", "projects.*.topic_api": topicAPI],
            hints: [:]
        )
    }

    /// The file of a project that sends to the sandbox.
    /// - Parameter state: the sandbox's folder, as seen from the file's.
    public static func sandbox(project: String, state: String) -> ConfigurationTemplate {
        ConfigurationTemplate(
            notes: ["For the simulator: fanfare sandbox --state \(state) --project \(project)"],
            project: project,
            values: [
                "projects.*.credentials": "\(state)/service-account-\(project).json",
                "projects.*.endpoint": "https://localhost:8443", "projects.*.topic_api": topicAPI,
                "tls.ca_file": "\(state)/ca.pem",
            ],
            hints: ["projects.*.sender_id": "The sandbox writes it to \(state)/sender-id-\(project)."]
        )
    }

    /// A new project uses the API that Google develops; the setting's default stays for older files.
    private static let topicAPI = TopicAPI.v1.rawValue

    private init(notes: [String], project: String, values: [String: String], hints: [String: String]) {
        (self.notes, self.project, self.hints) = (notes, project, hints)
        self.values = values.merging(["redis.url": Configuration().redis.url.value]) { given, _ in given }
    }

    /// The file.
    public var text: String {
        var lines = [
            "# Configuration of Fanfare. A line such as \"#level: info\" is a setting with its default; remove",
            "# the # to change it. Paths start from the folder of this file. Check it: fanfare config check",
        ]
        lines += notes.map { "# " + $0 }
        for section in sections {
            lines.append("")
            let settings = Settings.all.filter { Self.section(of: $0) == section }
            if section == "projects" {
                lines += [
                    "projects:",
                    "  # The key is the project's id, as in the Firebase console. There may be several projects.",
                    "  \(project):",
                ]
            } else if settings[0].path != section {
                lines.append("\(section):")
            }
            for setting in settings { lines += self.lines(of: setting) }
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private var sections: [String] {
        var sections = Self.firstSections
        for section in Settings.all.map(Self.section) where !sections.contains(section) { sections.append(section) }
        return sections
    }

    private static func section(of setting: Setting) -> String { String(setting.path.prefix { $0 != "." }) }

    /// The help of a setting as comments, then its line.
    private func lines(of setting: Setting) -> [String] {
        let names = setting.path.split(separator: ".")
        let indent = String(repeating: "  ", count: names.count - 1)
        let sentences = [setting.help, setting.kind.sentence, hints[setting.path] ?? ""].filter { !$0.isEmpty }
        let help = Self.wrapped(
            sentences.joined(separator: " ").replacing("`", with: ""),
            Self.width - indent.count - 2
        )
        let key = names.last ?? ""
        let line =
            values[setting.path].map { "\(key): \(Self.quoted($0))" }
            ?? "#\(key): " + (setting.defaultText.isEmpty ? setting.kind.placeholder : Self.quoted(setting.defaultText))
        return help.map { "\(indent)# \($0)" } + [indent + line]
    }

    /// A value as YAML reads it back.
    private static func quoted(_ value: String) -> String {
        let isPlain = value.utf8.allSatisfy { $0.isASCIIAlphanumeric || "-_./".utf8.contains($0) }
        return isPlain ? value : "\"\(value)\""
    }

    private static func wrapped(_ text: String, _ width: Int) -> [String] {
        var lines: [String] = []
        for word in text.split(separator: " ") {
            if let last = lines.last, last.count + word.count < width {
                lines[lines.count - 1] += " " + word
            } else {
                lines.append(String(word))
            }
        }
        return lines
    }
}

extension Setting.Kind {
    /// The values that are allowed, as a sentence; empty where the placeholder shows it.
    fileprivate var sentence: String {
        switch self {
        case .integer, .choice: return "Values: \(words)."
        default: return ""
        }
    }

    /// What stands in place of a value that has no default.
    fileprivate var placeholder: String {
        switch self {
        case .hosts: return "[<host>, <host>]"
        case .sizes: return "{ news: 1200000 }"
        default: return "<\(words.replacing("`", with: ""))>"
        }
    }
}

extension Setting.Kind {
    /// What a value is, for people.
    var words: String {
        switch self {
        case .text: return "text"
        case .integer(let range): return "\(range.lowerBound) to \(range.upperBound)"
        case .choice(let choices): return choices.map { "`\($0)`" }.joined(separator: ", ")
        case .file: return "file"
        case .origin: return "`https://host[:port]`"
        case .host: return "host"
        case .digits: return "digits"
        case .redisURL: return "URL"
        case .collector: return "`http[s]://host[:port][/path]`"
        case .proxy: return "`http://host:port`"
        case .address: return "`host:port` or `unix:///path`"
        case .hosts: return "list of host names; in the variable: separated by commas"
        case .sizes: return "topics and numbers; in the variable: `news=1200000`, separated by commas"
        }
    }
}
