internal import Dispatch
internal import Glibc
internal import Synchronization

/// Takes over the whole terminal for drawing; ``restore()`` returns it to its previous state.
struct TerminalScreen {
    /// nil if the keyboard is no terminal: then there are no keys.
    private let before: termios?

    /// False if the user wants none: https://no-color.org.
    private let hasColor: Bool

    var hasKeys: Bool { before != nil }

    init() {
        hasColor = getenv("NO_COLOR").map { $0[0] == 0 } ?? true
        var state = termios()
        before = tcgetattr(STDIN_FILENO, &state) == 0 ? state : nil
        if hasKeys {
            // Read keys at once, without echo. Ctrl-C still works; Ctrl-Z and Ctrl-\ would leave the screen half drawn.
            state.c_lflag &= ~tcflag_t(ICANON | ECHO)
            withUnsafeMutableBytes(of: &state.c_cc) {
                $0[Int(VSUSP)] = 0
                $0[Int(VQUIT)] = 0
            }
            tcsetattr(STDIN_FILENO, TCSANOW, &state)
        }
        // Switch to the alternate screen, hide the cursor and do not wrap lines.
        Console.write("\u{1B}[?1049h\u{1B}[?25l\u{1B}[?7l", to: STDOUT_FILENO)
    }

    func restore() {
        Console.write("\u{1B}[0m\u{1B}[?7h\u{1B}[?25h\u{1B}[?1049l", to: STDOUT_FILENO)
        if var state = before { tcsetattr(STDIN_FILENO, TCSANOW, &state) }
    }

    /// Draws over the previous picture in one write, without clearing, which would flicker.
    func draw(_ screen: TopScreen) {
        let size = Self.size
        let lines = screen.lines(width: size.columns, height: size.rows).prefix(size.rows)
        let text = lines.map { line in
            Self.styled(line, width: size.columns, hasColor: hasColor) + Self.clearing(line, width: size.columns)
        }
        Console.write("\u{1B}[H" + text.joined(separator: "\r\n"), to: STDOUT_FILENO)
    }

    /// Clears the rest of a line. After a full line the cursor still stands on the last character.
    private static func clearing(_ line: TopScreen.Line, width: Int) -> String {
        TextWidth.of(line.text) < width ? "\u{1B}[K" : ""
    }

    /// A selected line is inverse in its whole width. Without color a warning is bold.
    static func styled(_ line: TopScreen.Line, width: Int, hasColor: Bool) -> String {
        let text = line.isSelected ? TextWidth.padded(line.text, to: width) : line.text
        let visible = line.style == .warning && !hasColor ? .heading : line.style
        let style = visible.rawValue + (line.isSelected ? "\u{1B}[7m" : "")
        return style.isEmpty ? text : style + text + "\u{1B}[0m"
    }

    static var size: (columns: Int, rows: Int) {
        var size = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else {
            return (80, 24)
        }
        return (Int(size.ws_col), Int(size.ws_row))
    }
}

extension TerminalScreen {
    /// Calls a closure for keys that are pressed, on a private queue, until the source is cancelled.
    /// - Parameter onKeys: gets nil when the terminal is gone.
    static func watchKeys(_ onKeys: @escaping @Sendable ([TopKey]?) -> Void) -> any DispatchSourceRead {
        let queue = DispatchQueue(label: "fanfare.keys")
        let source = DispatchSource.makeReadSource(fileDescriptor: STDIN_FILENO, queue: queue)
        source.setEventHandler {
            guard let bytes = readKeys() else {
                source.cancel()
                return onKeys(nil)
            }
            onKeys(TopKey.keys(bytes))
        }
        source.resume()
        return source
    }

    /// nil at the end of the input. Waits for the rest of a sequence that arrives in parts.
    private static func readKeys() -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: 256)
        let count = read(STDIN_FILENO, &bytes, bytes.count)
        if count < 0, errno == EINTR || errno == EAGAIN { return [] }
        guard count > 0 else { return nil }
        bytes.removeLast(bytes.count - count)
        guard bytes.last == 0x1B || bytes.suffix(2) == [0x1B, 0x5B] else { return bytes }
        var rest = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
        guard poll(&rest, 1, 50) == 1 else { return bytes }
        return bytes + (readKeys() ?? [])
    }

    /// Calls a closure when the size of the terminal changes, on a private queue, until the source is cancelled.
    static func watchSize(_ onChange: @escaping @Sendable () -> Void) -> any DispatchSourceRead {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { preconditionFailure("no descriptor is left for signals") }
        let input = ends[0]
        // A full pipe already says that the size changed.
        _ = fcntl(ends[1], F_SETFL, O_NONBLOCK)
        sizePipe.store(ends[1], ordering: .releasing)
        let queue = DispatchQueue(label: "fanfare.size")
        let source = DispatchSource.makeReadSource(fileDescriptor: input, queue: queue)
        source.setEventHandler {
            var byte: UInt8 = 0
            if read(input, &byte, 1) == 1 { onChange() }
        }
        source.resume()
        // A handler may only call async-signal-safe functions, such as write.
        signal(SIGWINCH) { _ in
            var byte: UInt8 = 0
            _ = write(sizePipe.load(ordering: .acquiring), &byte, 1)
        }
        return source
    }
}

/// The descriptor that the handler of SIGWINCH writes to; set before the handler is installed.
private let sizePipe = Atomic<Int32>(-1)
