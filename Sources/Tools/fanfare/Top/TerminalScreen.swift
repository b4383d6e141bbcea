internal import Dispatch
internal import Glibc

/// Takes over the whole terminal for drawing; ``restore()`` returns it to its previous state.
struct TerminalScreen {
    private let before: termios

    /// - Throws: the exit code if the keyboard is not a terminal.
    init() throws {
        var state = termios()
        guard tcgetattr(STDIN_FILENO, &state) == 0 else {
            throw Outcome.usage.because("the keyboard is not a terminal: use --once or --json")
        }
        before = state
        // Read keys at once, without echo. Ctrl-C still works; Ctrl-Z would leave the screen half drawn.
        state.c_lflag &= ~tcflag_t(ICANON | ECHO)
        withUnsafeMutableBytes(of: &state.c_cc) { $0[Int(VSUSP)] = 0 }
        tcsetattr(STDIN_FILENO, TCSANOW, &state)
        // Switch to the alternate screen and hide the cursor.
        Console.write("\u{1B}[?1049h\u{1B}[?25l", to: STDOUT_FILENO)
    }

    func restore() {
        var state = before
        Console.write("\u{1B}[0m\u{1B}[?25h\u{1B}[?1049l", to: STDOUT_FILENO)
        tcsetattr(STDIN_FILENO, TCSANOW, &state)
    }

    /// Draws over the previous picture in one write, without clearing, which would flicker.
    func draw(_ screen: TopScreen) {
        let size = Self.size
        let lines = screen.lines(width: size.columns, height: size.rows).prefix(size.rows)
        let text = lines.map { Self.styled($0) + "\u{1B}[K" }.joined(separator: "\r\n")
        Console.write("\u{1B}[H" + text + "\u{1B}[J", to: STDOUT_FILENO)
    }

    static func styled(_ line: TopScreen.Line) -> String {
        line.style == .plain ? line.text : line.style.rawValue + line.text + "\u{1B}[0m"
    }

    private static var size: (columns: Int, rows: Int) {
        var size = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else {
            return (80, 24)
        }
        return (Int(size.ws_col), Int(size.ws_row))
    }
}

extension TerminalScreen {
    /// Calls a closure for every key that is pressed, on a private queue, until the source is cancelled.
    static func watchKeys(_ onKey: @escaping @Sendable (UInt8) -> Void) -> any DispatchSourceRead {
        let queue = DispatchQueue(label: "fanfare.keys")
        let source = DispatchSource.makeReadSource(fileDescriptor: STDIN_FILENO, queue: queue)
        source.setEventHandler {
            var key: UInt8 = 0
            // End of input: no more keys.
            if read(STDIN_FILENO, &key, 1) == 1 { onKey(key) } else { source.cancel() }
        }
        source.resume()
        return source
    }
}
