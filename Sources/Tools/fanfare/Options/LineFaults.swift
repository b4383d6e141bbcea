internal import ArgumentParser

/// The lines of a file that break a rule: their number, and the first of them.
struct LineFaults {
    /// The file, and what its faulty lines are called.
    struct Wording {
        let option: String
        /// Such as `1 line is no token`.
        let one: String
        /// What follows the number, such as `lines are no tokens`.
        let many: String

        static let tokens = Wording(option: "--tokens-file", one: "1 line is no token", many: "lines are no tokens")
        static let tokenRows = Wording(option: "--tokens-file", one: "1 row breaks a rule", many: "rows break a rule")
        static let recipients = Wording(
            option: "--recipients-file",
            one: "1 row breaks a rule",
            many: "rows break a rule"
        )
    }

    private static let maximumListed = 10
    /// The file is not read further: it is no list of recipients.
    private static let maximumCounted = 10_000

    private let file: String
    private let wording: Wording
    private var listed: [String] = []
    private(set) var count = 0

    /// - Parameter path: `-` for standard input.
    init(path: String, _ wording: Wording) {
        file = path == "-" ? "standard input" : path
        self.wording = wording
    }

    var isFull: Bool { count >= Self.maximumCounted }

    /// - Parameters:
    ///   - line: counted from 1.
    ///   - column: counted from 1; nil for the whole line.
    ///   - rule: computed for the first faults only.
    mutating func add(line: Int, column: Int? = nil, _ rule: @autoclosure () -> String) {
        count += 1
        guard listed.count < Self.maximumListed else { return }
        let place = column.map { "\(line):\($0)" } ?? "\(line)"
        listed.append("\(file):\(place): \(rule())")
    }

    /// Prints the lines and throws the exit code, if there are any.
    /// - Parameter advice: what to do now, besides correcting the file; empty for nothing.
    func throwIfAny(advice: String) throws {
        guard count > 0 else { return }
        for line in listed { Console.error(line) }
        if count > listed.count {
            Console.error("and \(isFull ? "more than " : "")\(count - listed.count) more")
        }
        let lines = count == 1 ? wording.one : "\(isFull ? "more than " : "")\(count) \(wording.many)"
        throw Outcome.usage.because("\(wording.option): \(lines), so nothing was pushed" + advice)
    }
}
