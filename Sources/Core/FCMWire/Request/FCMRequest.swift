public import FanfareModel

/// A request to FCM: a send over HTTP or XMPP, or an operation on a topic or a group.
///
/// The caller adds `Authorization`, and for the older management APIs `project_id` and `access_token_auth`.
public struct FCMRequest: Equatable, Sendable {
    public var method: HTTPMethod
    /// Path and query, ready to follow scheme and host; empty for the address of sends.
    public var path: String
    /// Empty for GET and DELETE; the JSON inside the stanza over XMPP.
    public var body: [UInt8]

    public init(method: HTTPMethod, path: String, body: [UInt8] = []) {
        self.method = method
        self.path = path
        self.body = body
    }
}
