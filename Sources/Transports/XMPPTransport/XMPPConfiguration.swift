public import FCMWire
public import SocketTransport

/// One project's connections to FCM over XMPP. There is no way to switch certificate checks off.
public struct XMPPConfiguration: Equatable, Sendable {
    public var address: TLSStreamConfiguration
    public var session: XMPPSessionSettings

    /// Connections at most, at least 1. A project has 2,500 on all workers together.
    public var maximumConnections = 10
    /// Connections that are kept open without demand: upstream messages and receipts come only while there is one.
    public var leastConnections = 1
    /// A connection beyond ``leastConnections`` is closed after so long without a message.
    public var idleMs: Int64 = 300_000
    /// The pause after a first failure to connect; it doubles with each up to ``longestBackoffMs``.
    public var shortestBackoffMs: Int64 = 1_000
    public var longestBackoffMs: Int64 = 60_000

    public init(host: String, port: Int, caFile: String? = nil, senderID: String, serverKey: String) {
        address = TLSStreamConfiguration(host: host, port: port, caFile: caFile)
        session = XMPPSessionSettings(user: XMPPSessionSettings.user(senderID: senderID), password: serverKey)
    }
}
