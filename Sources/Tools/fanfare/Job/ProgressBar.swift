internal import FanfareClient
internal import Glibc

/// Decides when a line is printed without a terminal: soon, at each change of state, then less often.
struct PlainLines {
    private static let first = Duration.seconds(2)
    private static let later = Duration.seconds(10)
    /// Lines that follow each other soon.
    private static let soon = 5

    private var count = 0
    private var state: JobStatus.State?

    /// - Parameter time: since the last line.
    mutating func isDue(_ new: JobStatus.State, after time: Duration) -> Bool {
        defer { state = new }
        let isNew = state != nil && state != new
        guard isNew || time >= (count < Self.soon ? Self.first : Self.later) else { return false }
        count += 1
        return true
    }
}

/// Shows a job's progress on standard error: on a terminal one line that is redrawn in place, elsewhere a line at intervals.
struct ProgressBar {
    private let isTerminal: Bool
    private var lastLine = ""
    private var lastPlain = ContinuousClock.now
    private var plain = PlainLines()

    init(isTerminal: Bool = Console.errorIsTerminal) { self.isTerminal = isTerminal }

    mutating func show(_ progress: JobProgress, nextRetryMs: Int64?) {
        let line = ProgressLine(progress: progress, nextRetryMs: nextRetryMs)
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
        // The end has lines of its own.
        guard !status.isOver, plain.isDue(status.state, after: lastPlain.duration(to: .now)) else { return }
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
