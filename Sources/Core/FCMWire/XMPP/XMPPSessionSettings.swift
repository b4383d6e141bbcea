/// Credential, window and timeouts of a session.
public struct XMPPSessionSettings: Equatable, Sendable {
    /// `<sender id>@gcm.googleapis.com`.
    public var user: String
    public var password: String
    /// Messages that may wait for their answer on one connection, 1 to 100: FCM takes no more.
    public var window = 100 {
        didSet { window = min(max(1, window), 100) }
    }
    /// From the open socket until messages may be sent.
    public var handshakeMs: Int64 = 10_000
    /// A message without an answer for so long ends its connection.
    public var ackMs: Int64 = 60_000
    /// A blank is sent after so long without anything else.
    public var keepaliveMs: Int64 = 60_000
    /// A connection on which nothing arrived for so long is replaced.
    public var silenceMs: Int64 = 900_000
    /// A draining connection is closed when all is answered and nothing came for so long.
    public var drainGraceMs: Int64 = 10_000

    public init(user: String, password: String) {
        self.user = user
        self.password = password
    }

    /// FCM's form of a user.
    public static func user(senderID: String) -> String { "\(senderID)@\(XMPPStanza.domain)" }
}

extension XMPPSessionSettings: CustomStringConvertible {
    /// Without the password.
    public var description: String { user }
}
