/// The reference of all settings as Markdown, generated from the table. The page Configuration holds exactly this text.
public enum SettingReference {
    public static var markdown: String {
        var lines: [String] = []
        func table(_ settings: [Setting]) {
            lines += ["| key | variable | flag | value | default | meaning |", "|---|---|---|---|---|---|"]
            for setting in settings {
                let flag = setting.flag.map { "`--\($0)`" } ?? ""
                let defaultText = setting.defaultText.isEmpty ? "" : "`\(setting.defaultText)`"
                lines.append(
                    "| `\(setting.path)` | `\(setting.environmentName)` | \(flag) | \(setting.kind.words) | \(defaultText) "
                        + "| \(setting.help) |"
                )
            }
        }
        lines += ["### General", ""]
        table(Settings.general)
        lines += ["", "### Worker", ""]
        table(Settings.worker)
        lines += ["", "### Projects", ""]
        table(Settings.project)
        return lines.joined(separator: "\n") + "\n"
    }
}

extension Setting.Kind {
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
