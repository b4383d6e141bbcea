internal import FanfareClient
internal import Glibc

/// One line that is drawn over and over on a terminal, and nothing at all elsewhere.
struct ProgressBar {
    private let isShown: Bool
    private var lastLine = ""
    private var meter = RateMeter()

    init(isShown: Bool = Console.errorIsTerminal) { self.isShown = isShown }

    mutating func show(_ progress: JobProgress) {
        guard isShown else { return }
        meter.add(progress.status.attempted, atMs: progress.nowMs)
        draw(Self.line(progress, rate: meter.perSecond))
    }

    /// A line of its own that stays.
    mutating func printNotice(_ text: String) {
        end()
        Console.error("fanfare: \(text)")
    }

    /// Clears the line, so that what follows stands alone.
    mutating func end() {
        guard isShown, !lastLine.isEmpty else { return }
        lastLine = ""
        Console.write("\r\u{1B}[K", to: STDERR_FILENO)
    }

    private mutating func draw(_ line: String) {
        guard line != lastLine else { return }
        lastLine = line
        // A line that wraps could not be cleared.
        var size = winsize()
        let isKnown = ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 1
        Console.write("\r\u{1B}[K" + (isKnown ? String(line.prefix(Int(size.ws_col) - 1)) : line), to: STDERR_FILENO)
    }

    /// - Parameter rate: results a second over the last seconds; nil when it is not known.
    static func line(_ progress: JobProgress, rate: Double?) -> String {
        var line = line(progress.status)
        let status = progress.status
        if case .waiting = progress.turn, let remaining = JobRendering.remaining(progress) {
            return line + "  \(remaining)"
        }
        if case .holding(.some) = progress.turn, let left = progress.remainingSeconds {
            return line + "  \(PaceText.duration(left)) left, estimated"
        }
        guard status.total > 1, let rate, status.state == .active || status.state == .retrying else { return line }
        line += "  \(PaceText.rate(rate))"
        if status.state == .active, rate > 0 {
            line += "  \(PaceText.duration(Double(max(0, status.total - status.finished)) / rate)) left"
        }
        return line
    }

    static func line(_ status: JobStatus) -> String {
        let width = 24
        let share = status.total > 0 ? min(1, max(0, Double(status.finished) / Double(status.total))) : 0
        let filled = Int(share * Double(width))
        let bar = String(repeating: "#", count: filled) + String(repeating: ".", count: width - filled)
        var line = "[\(bar)] \(Int(share * 100))% \(status.finished)/\(status.total) \(status.state)"
        let counts = [
            ("sent", status.sent), ("failed", status.failed), ("unknown", status.unknown),
            ("cancelled", status.cancelled), ("expired", status.expired), ("retrying", status.retrying),
        ]
        for (name, count) in counts where count > 0 { line += "  \(name) \(count)" }
        return line
    }
}
