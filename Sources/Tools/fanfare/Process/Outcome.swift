internal import ArgumentParser

/// The exit code of a command that fails.
enum Outcome: Int32 {
    case failed = 1
    /// The argument parser's own code for usage errors. It is thrown as a plain exit code for errors found later, so that
    /// the parser does not print the usage of `fanfare` after them.
    case usage = 64
    case unavailable = 69
    case configuration = 78

    /// Prints the reason to standard error and returns the exit code to throw.
    func because(_ reason: String) -> ExitCode {
        Console.error("fanfare: \(reason)")
        return ExitCode(rawValue)
    }
}
