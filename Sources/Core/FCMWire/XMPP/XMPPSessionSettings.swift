/// Credential and timeouts of a session. All times in milliseconds.
public struct XMPPSessionSettings: Equatable, Sendable {
    public var user: String
    public var password: String
    /// 1 to 100.
    public var window: Int
    public var handshakeMs: Int64
    public var ackMs: Int64
    public var keepaliveMs: Int64
    public var silenceMs: Int64
    public var drainGraceMs: Int64

    /// - Parameter user: `<sender id>@gcm.googleapis.com`.
    public init(
        user: String,
        password: String,
        window: Int = 100,
        handshakeMs: Int64 = 10_000,
        ackMs: Int64 = 60_000,
        keepaliveMs: Int64 = 60_000,
        silenceMs: Int64 = 900_000,
        drainGraceMs: Int64 = 10_000
    ) {
        self.user = user
        self.password = password
        self.window = min(max(1, window), 100)
        self.handshakeMs = handshakeMs
        self.ackMs = ackMs
        self.keepaliveMs = keepaliveMs
        self.silenceMs = silenceMs
        self.drainGraceMs = drainGraceMs
    }

    /// FCM's form of a user.
    public static func user(senderID: String) -> String { "\(senderID)@\(XMPPStanza.domain)" }
}

extension XMPPSessionSettings: CustomStringConvertible {
    /// Without the password.
    public var description: String { user }
}
