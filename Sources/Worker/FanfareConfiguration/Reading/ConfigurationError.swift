/// All faults of a configuration, so that one pass is enough to correct them.
public struct ConfigurationError: Error, Equatable, Sendable, CustomStringConvertible {
    /// One sentence each, beginning with its source: a key's path, a variable or a file.
    public let faults: [String]
    /// The warnings found until then: one of them may be the cause, such as a misspelt variable.
    public let warnings: [String]
    /// What to do about the faults, or where the file was found if the user did not name it; nil for nothing.
    public let hint: String?

    public init(faults: [String], warnings: [String] = [], hint: String? = nil) {
        self.faults = faults
        self.warnings = warnings
        self.hint = hint
    }

    public var description: String { faults.joined(separator: "\n") }
}
