/// Everything that is wrong with a configuration, at once: one pass of mending is enough.
public struct ConfigurationError: Error, Equatable, Sendable, CustomStringConvertible {
    /// One sentence each, starting with the place: a key's path, a variable or a file.
    public let problems: [String]

    public init(problems: [String]) { self.problems = problems }

    public var description: String { problems.joined(separator: "\n") }
}
