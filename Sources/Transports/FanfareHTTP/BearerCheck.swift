public import FanfareModel

/// Decides whether a request gives one of the bearer tokens that a server accepts.
public struct BearerCheck: Sendable {
    public enum Result: Sendable {
        case accepted
        /// The request gives no token.
        case missing
        case wrong
    }

    /// Header of each 401 answer.
    public static let challenge = (name: "WWW-Authenticate", value: #"Bearer realm="fanfare""#)

    private let tokens: [BearerToken]

    /// - Parameter tokens: none to accept every request.
    public init(_ tokens: [BearerToken]) { self.tokens = tokens }

    public func check(_ request: WebRequest) -> Result {
        guard !tokens.isEmpty else { return .accepted }
        guard let header = request.headers["authorization"] else { return .missing }
        return tokens.contains { $0.accepts(authorization: header) } ? .accepted : .wrong
    }
}
