@testable import FanfareConfiguration

/// The reference of all settings as Markdown, generated from the table. The page Configuration ends with exactly this text.
enum SettingReference {
    static var markdown: String {
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
        lines += ["", "### Gateway", ""]
        table(Settings.gateway)
        lines += ["", "### Worker", ""]
        table(Settings.worker)
        lines += ["", "### Projects", ""]
        table(Settings.project)
        return lines.joined(separator: "\n") + "\n"
    }
}
