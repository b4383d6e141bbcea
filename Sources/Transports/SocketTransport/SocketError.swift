public import FanfareModel

/// Why a connection was not made, or ended.
public struct SocketError: Error, Equatable, Sendable, CustomStringConvertible {
    public let reason: Reason
    public var description: String { reason.description }

    init(_ kind: Reason.Kind, _ text: String) { reason = Reason(kind, text) }
}
