/// Why a stream cannot be read any further.
public struct XMLStreamError: Error, Equatable, Sendable, CustomStringConvertible {
    /// For logs. It never repeats what the peer sent.
    public var reason: String

    public init(reason: String) { self.reason = reason }

    public var description: String { reason }
}
