internal import FanfareClient
internal import Glibc

/// One line that is drawn over and over on a terminal, and nothing at all elsewhere.
struct ProgressBar {
    private let isShown: Bool
    private var lastLine = ""

    init(isShown: Bool = Console.errorIsTerminal) { self.isShown = isShown }

    mutating func show(_ status: JobStatus) {
        guard isShown else { return }
        let line = Self.line(status)
        guard line != lastLine else { return }
        lastLine = line
        Console.write("\r\u{1B}[K" + line, to: STDERR_FILENO)
    }

    /// Clears the line, so that what follows stands alone.
    mutating func end() {
        guard isShown, !lastLine.isEmpty else { return }
        lastLine = ""
        Console.write("\r\u{1B}[K", to: STDERR_FILENO)
    }

    static func line(_ status: JobStatus) -> String {
        let width = 24
        let share = status.total > 0 ? min(1, max(0, Double(status.finished) / Double(status.total))) : 0
        let filled = Int(share * Double(width))
        let bar = String(repeating: "#", count: filled) + String(repeating: ".", count: width - filled)
        var line = "[\(bar)] \(Int(share * 100))% \(status.finished)/\(status.total) \(status.state)"
        let counts = [
            ("sent", status.sent), ("failed", status.failed), ("unknown", status.unknown),
            ("retrying", status.retrying),
        ]
        for (name, count) in counts where count > 0 { line += "  \(name) \(count)" }
        return line
    }
}
