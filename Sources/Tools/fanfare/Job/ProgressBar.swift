internal import FanfareClient
internal import Glibc

/// Shows a job's progress on standard error: on a terminal one line that is redrawn in place, elsewhere a line now and then.
struct ProgressBar {
    /// Without a terminal, the time between two lines.
    private static let plainInterval = Duration.seconds(10)

    private let isTerminal: Bool
    private var lastLine = ""
    private var lastPlain = ContinuousClock.now
    private var meter = RateMeter()

    init(isTerminal: Bool = Console.errorIsTerminal) { self.isTerminal = isTerminal }

    mutating func show(_ progress: JobProgress, nextRetryMs: Int64?) {
        meter.add(progress.status.attempted, atMs: progress.nowMs)
        let line = ProgressLine(progress: progress, rate: meter.perSecond, nextRetryMs: nextRetryMs)
        isTerminal ? draw(line) : printNowAndThen(line, progress.status)
    }

    private mutating func draw(_ line: ProgressLine) {
        // A wrapped line could not be cleared.
        var size = winsize()
        let isKnown = ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 1
        let text = TextTable.visible(line.text(width: isKnown ? Int(size.ws_col) - 1 : 79))
        guard text != lastLine else { return }
        lastLine = text
        Console.write("\r\u{1B}[K" + text, to: STDERR_FILENO)
    }

    private mutating func printNowAndThen(_ line: ProgressLine, _ status: JobStatus) {
        guard !status.isOver, lastPlain.duration(to: .now) >= Self.plainInterval else { return }
        lastPlain = .now
        Console.error("job \(status.id): \(TextTable.visible(line.text(width: nil)))")
    }

    /// Prints a line that stays.
    mutating func printNotice(_ text: String) {
        end()
        Console.error("fanfare: \(text)")
    }

    /// Clears the progress line.
    mutating func end() {
        guard isTerminal, !lastLine.isEmpty else { return }
        lastLine = ""
        Console.write("\r\u{1B}[K", to: STDERR_FILENO)
    }
}
