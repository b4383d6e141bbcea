internal import ArgumentParser
internal import Glibc

/// How a command ends when it does not end well.
enum Outcome: Int32 {
    case failed = 1
    /// What the argument parser ends with by itself as long as it parses. An error that is thrown later, when files are
    /// read, it would follow with the usage of `fanfare`, which is of no help.
    case usage = 64
    case unavailable = 69
    case configuration = 78

    /// Says why on standard error and gives what to throw.
    func because(_ reason: String) -> ExitCode {
        Console.error("fanfare: \(reason)")
        return ExitCode(rawValue)
    }
}

/// Whole lines to the two outputs. They repeat what others wrote, which a terminal must not obey.
enum Console {
    static func line(_ text: String) { writeLine(text, to: STDOUT_FILENO) }
    static func error(_ text: String) { writeLine(text, to: STDERR_FILENO) }

    private static func writeLine(_ text: String, to descriptor: Int32) {
        write(PrintableText.escaped(text, keepingLines: true) + "\n", to: descriptor)
    }

    static func write(_ text: String, to descriptor: Int32) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR || errno == EAGAIN { continue }
            // Nobody reads any more: what a pipe's other end does not want is not an error.
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }

    static var errorIsTerminal: Bool { isatty(STDERR_FILENO) == 1 }
}
