internal import Dispatch
internal import Glibc

/// The whole terminal, for as long as something is drawn on it; afterwards it is as it was.
struct TerminalScreen {
    private let before: termios

    /// - Throws: the exit code, where there is no terminal to draw on.
    init() throws {
        var state = termios()
        guard tcgetattr(STDIN_FILENO, &state) == 0 else {
            throw Outcome.usage.because("the keyboard is not a terminal: use --once or --json")
        }
        before = state
        // Keys at once and unseen; Ctrl-C stays what it is, and nothing may leave the screen half drawn.
        state.c_lflag &= ~tcflag_t(ICANON | ECHO)
        withUnsafeMutableBytes(of: &state.c_cc) { $0[Int(VSUSP)] = 0 }
        tcsetattr(STDIN_FILENO, TCSANOW, &state)
        // Another screen, without the cursor.
        Console.write("\u{1B}[?1049h\u{1B}[?25l", to: STDOUT_FILENO)
    }

    func restore() {
        var state = before
        Console.write("\u{1B}[0m\u{1B}[?25h\u{1B}[?1049l", to: STDOUT_FILENO)
        tcsetattr(STDIN_FILENO, TCSANOW, &state)
    }

    /// In one write, over what was there: cleared first, it would flicker.
    func draw(_ screen: TopScreen) {
        let size = Self.size
        let lines = screen.lines(width: size.columns, height: size.rows).prefix(size.rows)
        let text = lines.map { Self.styled($0) + "\u{1B}[K" }.joined(separator: "\r\n")
        Console.write("\u{1B}[H" + text + "\u{1B}[J", to: STDOUT_FILENO)
    }

    static func styled(_ line: TopScreen.Line) -> String {
        switch line.style {
        case .plain: return line.text
        case .heading: return "\u{1B}[1m\(line.text)\u{1B}[0m"
        case .warning: return "\u{1B}[33m\(line.text)\u{1B}[0m"
        }
    }

    private static var size: (columns: Int, rows: Int) {
        var size = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else {
            return (80, 24)
        }
        return (Int(size.ws_col), Int(size.ws_row))
    }
}

/// Tells of every key that is pressed.
final class TerminalKeys {
    private let source: any DispatchSourceRead

    /// - Parameter pressed: called on a queue of its own.
    init(_ pressed: @escaping @Sendable (UInt8) -> Void) {
        source = DispatchSource.makeReadSource(
            fileDescriptor: STDIN_FILENO,
            queue: DispatchQueue(label: "fanfare.keys")
        )
        source.setEventHandler { [source] in
            var key: UInt8 = 0
            // At the end of the input nobody presses anything any more.
            if read(STDIN_FILENO, &key, 1) == 1 { pressed(key) } else { source.cancel() }
        }
        source.resume()
    }

    func cancel() { source.cancel() }
}
