public import FanfareModel

/// The headers that a channel adds to a request. Requests with one credential share them.
public enum HeaderSet: Sendable { case json, form, management }

/// A request for one recipient or several, or an operation on a topic or a group.
public struct WireRequest: Equatable, Sendable {
    public var route: Route
    public var method: HTTPMethod
    /// Path and query, ready to follow scheme and host; empty for the address of sends.
    public var path: String
    /// `Authorization` among them, and for the older management APIs `project_id` and `access_token_auth`.
    public var headers: HeaderSet
    /// Empty for GET and DELETE; the JSON inside the stanza over XMPP.
    public var body: [UInt8]
    /// The id that an ack over XMPP will name; empty on other routes.
    public var messageID = ""
    /// The recipient as an ack over XMPP names it; empty on other routes, and for a condition.
    public var recipient = ""

    public init(
        _ route: Route = .fcm,
        method: HTTPMethod = .post,
        path: String = "",
        headers: HeaderSet = .json,
        body: [UInt8] = []
    ) {
        self.route = route
        self.method = method
        self.path = path
        self.headers = headers
        self.body = body
    }
}
