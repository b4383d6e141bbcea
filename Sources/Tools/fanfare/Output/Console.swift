internal import FanfareJSON
internal import Glibc

/// Writes lines to standard output and standard error, with control characters escaped.
enum Console {
    static func line(_ text: String) { writeLine(text, to: STDOUT_FILENO) }
    static func json(_ object: JSONObject) { line(JSONValue.object(object).jsonText) }

    /// Prints a result as a line of text or as a JSON object.
    static func result(_ text: String, _ object: JSONObject, isJSON: Bool) {
        if isJSON { json(object) } else { line(text) }
    }

    static func error(_ text: String) { writeLine(text, to: STDERR_FILENO) }

    private static func writeLine(_ text: String, to descriptor: Int32) {
        write(PrintableText.escaped(text, keepingLines: true) + "\n", to: descriptor)
    }

    static func write(_ text: String, to descriptor: Int32) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR || errno == EAGAIN { continue }
            // The reader of a pipe is gone, which is no error.
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }

    /// Keeps a closed pipe from ending this process: a change of several jobs is not to stop half-way because its output is
    /// read by `head`.
    static func outliveReaders() { signal(SIGPIPE, SIG_IGN) }

    static var errorIsTerminal: Bool { isatty(STDERR_FILENO) == 1 }

    /// Whether a user can answer a question.
    static var canPrompt: Bool { isatty(STDIN_FILENO) == 1 && errorIsTerminal }

    /// Asks a question whose answer is no unless the user types yes.
    static func confirm(_ question: String) -> Bool {
        write(question, to: STDERR_FILENO)
        return ["y", "yes"].contains(readLine()?.lowercased())
    }
}
