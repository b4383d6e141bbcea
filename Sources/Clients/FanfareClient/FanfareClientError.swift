/// Why a producer's call failed. What Redis itself said is thrown as it is.
public struct FanfareClientError: Error, Equatable, Sendable, CustomStringConvertible {
    public struct Code: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// Redis answered with something that this version does not understand.
        public static let unexpectedReply = Code(rawValue: "unexpected_reply")
        /// The job's hash was not there: never pushed, not yet taken, or over and no longer kept.
        public static let noSuchJob = Code(rawValue: "no_such_job")
    }

    public let code: Code
    /// A sentence for people.
    public let message: String

    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    public var description: String { message }
}
