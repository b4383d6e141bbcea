/// Why a call failed. Errors of Redis are thrown as the ``RedisSending`` client has them.
public struct FanfareClientError: Error, Equatable, Sendable, CustomStringConvertible {
    public struct Code: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// This version does not understand Redis' reply.
        public static let unexpectedReply = Code(rawValue: "unexpected_reply")
        /// The job has no hash: it was never pushed, not yet taken by a worker, or is no longer kept.
        public static let noSuchJob = Code(rawValue: "no_such_job")
        /// An argument breaks a rule, which the message names.
        public static let badArgument = Code(rawValue: "bad_argument")
    }

    public let code: Code
    /// A sentence for users.
    public let message: String

    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    public var description: String { message }
}
