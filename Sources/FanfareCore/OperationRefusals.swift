/// What becomes of operations on topics and groups whose access token their API refuses.
///
/// The token is shared with sends, which another API judges: it is renewed while they go on with it. An operation that is
/// refused with a newer token than the first one is refused for good, and so are all that follow until the API takes a token again.
public struct OperationRefusals: Equatable, Sendable {
    public typealias Generation = CredentialMachine.Generation

    public enum Decision: Equatable, Sendable {
        /// Renew the token, and try the operation again later.
        case renew
        case fail
    }

    /// The token that the first operation was refused with since the API took one.
    private var first: Generation?

    public init() {}

    /// - Parameter canRenew: false for a server key.
    public mutating func refused(_ generation: Generation, canRenew: Bool) -> Decision {
        guard canRenew else { return .fail }
        guard let first else {
            first = generation
            return .renew
        }
        return generation > first ? .fail : .renew
    }

    /// The API took a token, whatever it said of the operation.
    public mutating func accepted() { first = nil }
}
