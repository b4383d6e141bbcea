/// One project's way to FCM over XMPP.
public struct XMPPConfiguration: Equatable, Sendable {
    public var host: String
    public var port: Int
    /// PEM certificates to trust beside the system's; nil for none.
    public var caFile: String?
    /// The user of `<sender id>@gcm.googleapis.com`.
    public var senderID: String
    /// The password.
    public var serverKey: String

    public init(host: String, port: Int, caFile: String? = nil, senderID: String, serverKey: String) {
        self.host = host
        self.port = port
        self.caFile = caFile
        self.senderID = senderID
        self.serverKey = serverKey
    }
}
