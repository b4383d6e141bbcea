/// Why a connection was not made, or ended.
public struct SocketError: Error, Equatable, Sendable, CustomStringConvertible {
    public enum Kind: Equatable, Sendable {
        case nameResolution
        /// A wrong authority, a wrong host, a refused client certificate.
        case tls
        case connectionLost
    }

    public let kind: Kind
    public let reason: String
    public var description: String { reason }

    init(_ kind: Kind, _ reason: String) {
        self.kind = kind
        self.reason = reason
    }
}
