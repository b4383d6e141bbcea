/// Why a text is not JSON, and where.
public struct JSONError: Error, Equatable, Sendable, CustomStringConvertible {
    /// A short phrase without data from the text, such as `unescaped control character in a string`.
    public let reason: String
    /// The byte at which it was noticed, counted from 0; the length of the text when it ended too early.
    public let offset: Int

    public init(reason: String, offset: Int) {
        self.reason = reason
        self.offset = offset
    }

    public var description: String {
        "byte \(offset): \(reason)"
    }
}

/// Limits of a text. A text beyond a limit is refused like a malformed one.
public struct JSONLimits: Equatable, Sendable {
    /// How many arrays and objects may be open at once.
    public var maximumDepth: Int
    public var maximumBytes: Int

    public init(maximumDepth: Int = 64, maximumBytes: Int = 64 * 1024 * 1024) {
        self.maximumDepth = maximumDepth
        self.maximumBytes = maximumBytes
    }
}
