/// All problems of a configuration, so that one pass is enough to correct them.
public struct ConfigurationError: Error, Equatable, Sendable, CustomStringConvertible {
    /// One sentence each, beginning with its source: a key's path, a variable or a file.
    public let problems: [String]

    public init(problems: [String]) { self.problems = problems }

    public var description: String { problems.joined(separator: "\n") }
}
