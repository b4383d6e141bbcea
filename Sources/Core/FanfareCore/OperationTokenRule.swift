/// Decides whether an operation on topics or groups is retried or fails when its API refuses the access token.
///
/// Sends use the same token with another API, so it is renewed while sends continue with it. An operation that is
/// refused with a newer token than the first refused one fails, and so do all later ones until the API accepts a token
/// again.
struct OperationTokenRule: Equatable, Sendable {
    typealias Generation = CredentialMachine.Generation

    enum Decision: Equatable, Sendable {
        /// Renew the token, and try the operation again later.
        case renew
        case fail
    }

    /// The token of the first refusal since the API last accepted a token.
    private var first: Generation?

    /// - Parameter canRenew: false for a server key.
    mutating func refused(_ generation: Generation, canRenew: Bool) -> Decision {
        guard canRenew else { return .fail }
        guard let first else {
            first = generation
            return .renew
        }
        return generation > first ? .fail : .renew
    }

    /// The API accepted a token; the operation itself may have failed.
    mutating func accepted() { first = nil }
}
