/// The reference of all settings, made from the table; the documentation's page holds exactly this.
public enum SettingReference {
    public static var markdown: String {
        var lines: [String] = []
        func table(_ settings: [Setting]) {
            lines += ["| key | variable | flag | value | default | meaning |", "|---|---|---|---|---|---|"]
            for setting in settings {
                let flag = setting.flag.map { "`--\($0)`" } ?? ""
                let standard = setting.standard.isEmpty ? "" : "`\(setting.standard)`"
                let note = setting.isInEffect ? "" : " *No effect in this version.*"
                lines.append(
                    "| `\(setting.path)` | `\(setting.environmentName)` | \(flag) | \(setting.kind.words) | \(standard) "
                        + "| \(setting.meaning)\(note) |"
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
        case .proxy: return "`http://host:port`"
        case .address: return "`host:port` or `unix:///path`"
        case .hosts: return "list of host names; in the variable: commas between"
        case .sizes: return "topics and numbers; in the variable: `news=1200000`, commas between"
        }
    }
}
