/// One HTTP request.
public struct SimulatorRequest: Equatable, Sendable {
    public var method: String
    /// Without the query.
    public var path: String
    /// The text after the question mark, still encoded.
    public var query: String
    public var authorization: String?
    public var contentType: String?
    /// The header `access_token_auth: true` was sent: the bearer token counts on a legacy path.
    public var accessTokenAuth: Bool
    /// The legacy header `project_id`, a sender id.
    public var projectIDHeader: String?
    /// The header that requests to a metadata server carry.
    public var metadataFlavor: String?
    public var body: [UInt8]

    public init(
        method: String,
        path: String,
        query: String = "",
        authorization: String? = nil,
        contentType: String? = nil,
        accessTokenAuth: Bool = false,
        projectIDHeader: String? = nil,
        metadataFlavor: String? = nil,
        body: [UInt8] = []
    ) {
        self.method = method
        self.path = path
        self.query = query
        self.authorization = authorization
        self.contentType = contentType
        self.accessTokenAuth = accessTokenAuth
        self.projectIDHeader = projectIDHeader
        self.metadataFlavor = metadataFlavor
        self.body = body
    }
}

/// The answer to a request, and how the wire misbehaves meanwhile.
public struct SimulatorReply: Equatable, Sendable {
    public struct Header: Equatable, Sendable {
        public var name: String
        public var value: String

        public init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    public var status: Int
    /// Names are lower-case. The server adds `content-length` and `date`.
    public var headers: [Header]
    public var body: [UInt8]
    /// Milliseconds between the request and its answer.
    public var delayMs: Int64 = 0
    public var wire: WireFault?

    public init(status: Int, headers: [Header] = [], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    init(status: Int, contentType: String, text: String) {
        self.init(status: status, headers: [Header("content-type", contentType)], body: Array(text.utf8))
    }

    init(status: Int, json body: [UInt8]) {
        self.init(status: status, headers: [Header("content-type", "application/json; charset=UTF-8")], body: body)
    }

    /// A page of Google's front end.
    init(page status: Int, _ sentence: String) {
        let text = """
            <!DOCTYPE html>
            <html lang=en><title>Error \(status)</title>
            <p><b>\(status).</b> <ins>That's an error.</ins>
            <p>\(sentence) <ins>That's all we know.</ins>

            """
        self.init(status: status, contentType: "text/html; charset=UTF-8", text: text)
    }

    /// A listing, one JSON object a line.
    init(lines body: [UInt8]) {
        self.init(status: 200, headers: [Header("content-type", "application/x-ndjson")], body: body)
    }

    func adding(_ name: String, _ value: String) -> SimulatorReply {
        var copy = self
        copy.headers.append(Header(name, value))
        return copy
    }
}

/// A fault of the wire. Codes as in RFC 9113, section 7.
public enum WireFault: Equatable, Sendable {
    /// RST_STREAM instead of an answer.
    case reset(code: UInt32)
    /// RST_STREAM with REFUSED_STREAM: the request was not processed.
    case refuseStream
    /// GOAWAY that excludes this request; older streams are still answered, then the connection ends.
    case goAway(code: UInt32)
    /// The connection ends without an answer.
    case close
    /// The answer's headers, this many bytes of its body, and then a reset.
    case truncate(bytes: Int)
    /// SETTINGS_MAX_CONCURRENT_STREAMS for this connection; the request itself is answered.
    case maxConcurrentStreams(Int)
}
