internal import FanfareClient
internal import Glibc

/// A progress line that is redrawn in place on a terminal; prints nothing elsewhere.
struct ProgressBar {
    private let isShown: Bool
    private var lastLine = ""
    private var meter = RateMeter()

    init(isShown: Bool = Console.errorIsTerminal) { self.isShown = isShown }

    mutating func show(_ progress: JobProgress) {
        guard isShown else { return }
        meter.add(progress.status.attempted, atMs: progress.nowMs)
        let line = Self.line(progress, rate: meter.perSecond)
        guard line != lastLine else { return }
        lastLine = line
        // A wrapped line could not be cleared.
        var size = winsize()
        let isKnown = ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 1
        Console.write("\r\u{1B}[K" + (isKnown ? String(line.prefix(Int(size.ws_col) - 1)) : line), to: STDERR_FILENO)
    }

    /// Prints a line that stays.
    mutating func printNotice(_ text: String) {
        end()
        Console.error("fanfare: \(text)")
    }

    /// Clears the progress line.
    mutating func end() {
        guard isShown, !lastLine.isEmpty else { return }
        lastLine = ""
        Console.write("\r\u{1B}[K", to: STDERR_FILENO)
    }

    /// - Parameter rate: results a second over the last seconds; nil if unknown.
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
        let percent = Int(share(status) * 100)
        var line = "\(bar(status, width: 24)) \(percent)% \(status.finished)/\(status.total) \(status.state)"
        for (name, count) in status.counters where count > 0 && !["total", "duplicates"].contains(name) {
            line += "  \(name) \(count)"
        }
        return line
    }

    /// The finished share of a job as `[###...]`.
    static func bar(_ status: JobStatus, width: Int) -> String {
        let filled = Int(share(status) * Double(width))
        return "[" + String(repeating: "#", count: filled) + String(repeating: ".", count: width - filled) + "]"
    }

    private static func share(_ status: JobStatus) -> Double {
        status.total > 0 ? min(1, max(0, Double(status.finished) / Double(status.total))) : 0
    }
}
