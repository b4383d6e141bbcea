internal import ArgumentParser

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
