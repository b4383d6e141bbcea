internal import FCMWire

/// One project's way to FCM over XMPP. There is no way to switch certificate checks off.
public struct XMPPConfiguration: Equatable, Sendable {
    public var host: String
    public var port: Int
    /// PEM certificates to trust beside the system's; nil for none.
    public var caFile: String?
    /// The user of `<sender id>@gcm.googleapis.com`.
    public var senderID: String
    /// The password.
    public var serverKey: String
    /// The name to log in with where it is not FCM's form of it.
    public var authenticationID: String?

    /// Messages that may wait for their answer on one connection, 1 to 100: FCM takes no more.
    public var window = 100
    /// Connections at most, at least 1. A project has 2,500 on all workers together.
    public var mostConnections = 10
    /// Connections that are kept open without demand: upstream messages and receipts come only while there is one.
    public var leastConnections = 1

    /// For name look-up, TCP and TLS together.
    public var connectTimeoutMs: Int64 = 10_000
    /// From the open socket until messages may be sent.
    public var handshakeTimeoutMs: Int64 = 10_000
    /// A message without an answer for so long ends its connection.
    public var ackTimeoutMs: Int64 = 60_000
    /// A blank is sent after so long without anything else.
    public var keepaliveMs: Int64 = 60_000
    /// A connection on which nothing arrived for so long is replaced.
    public var silenceMs: Int64 = 900_000
    /// A draining connection is closed by us when all is answered and nothing came for so long.
    public var drainGraceMs: Int64 = 10_000
    /// A connection beyond ``leastConnections`` is closed after so long without a message.
    public var idleMs: Int64 = 300_000
    /// The pause after a first failure to connect; it doubles with each up to ``longestBackoffMs``.
    public var shortestBackoffMs: Int64 = 1_000
    public var longestBackoffMs: Int64 = 60_000
    /// How long sent bytes may stay unacknowledged by the peer's kernel before ours gives the connection up.
    public var userTimeoutMs: Int32 = 20_000
    /// Bytes that may wait for the peer to take them; more ends the connection. A full window is far below.
    public var maxBufferedBytes = 4 << 20

    public init(host: String, port: Int, caFile: String? = nil, senderID: String, serverKey: String) {
        self.host = host
        self.port = port
        self.caFile = caFile
        self.senderID = senderID
        self.serverKey = serverKey
    }
    var session: XMPPSessionSettings {
        XMPPSessionSettings(
            user: authenticationID ?? XMPPSessionSettings.user(senderID: senderID),
            password: serverKey,
            window: window,
            handshakeMs: handshakeTimeoutMs,
            ackMs: ackTimeoutMs,
            keepaliveMs: keepaliveMs,
            silenceMs: silenceMs,
            drainGraceMs: drainGraceMs
        )
    }
}

extension XMPPConfiguration: CustomStringConvertible {
    /// Without the key.
    public var description: String { "\(senderID) at \(host):\(port)" }
}
