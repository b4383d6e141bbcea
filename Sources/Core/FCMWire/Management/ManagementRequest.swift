public import FanfareModel

/// A request of topic or group management. Its `Authorization`, and for the older interfaces `project_id` and
/// `access_token_auth`, are the caller's to add; a body is always `application/json`.
public struct ManagementRequest: Equatable, Sendable {
    public var method: HTTPMethod
    /// Path and query, ready to follow scheme and host.
    public var path: String
    /// Empty for GET and DELETE.
    public var body: [UInt8]

    public init(method: HTTPMethod, path: String, body: [UInt8] = []) {
        self.method = method
        self.path = path
        self.body = body
    }
}
