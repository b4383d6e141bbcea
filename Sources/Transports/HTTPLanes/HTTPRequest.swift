public import FanfareModel

/// One request. It is complete when it is sent, and does not change afterwards.
public struct HTTPRequest: Equatable, Sendable {
    /// The caller's number of the request; comes back with the outcome.
    public var tag: UInt64
    public var method: HTTPMethod
    /// Absolute, `https` (or `http` where the pool allows it), of the pool's one origin, path and query already escaped.
    public var url: String
    /// Lines of the form `Name: value`. Hand over the same array for many requests: it is checked and copied once.
    public var headers: [String]
    /// Only with `.post`.
    public var body: [UInt8]
    /// Milliseconds from ``LanePool/send(_:)`` to the end of the answer, waiting for a free stream included.
    public var timeoutMs: Int64
    /// An answer's body beyond this is cut off and counts as incomplete; nil for the pool's limit.
    public var maximumBodyBytes: Int?
    /// Whether the front of a cut answer is of use.
    public var usesCutBody = false
    /// Whether to read the answer's `Date` in any case; otherwise only beside a Retry-After.
    public var asksForDate = false
    /// Whether to read the answer's `Metadata-Flavor`.
    public var asksForMetadataFlavor = false

    public init(
        tag: UInt64,
        method: HTTPMethod = .post,
        url: String,
        headers: [String] = [],
        body: [UInt8] = [],
        timeoutMs: Int64 = 15_000
    ) {
        self.tag = tag
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.timeoutMs = timeoutMs
    }
}
