internal import FanfareJSON

/// What a request is answered.
struct WebReply: Sendable {
    enum Body: Sendable {
        case bytes([UInt8])
        /// Server-sent events, for as long as somebody reads them.
        case events(StreamSlot)
    }

    var status: Int
    var type: String
    var headers: [(name: String, value: String)] = []
    var body: Body

    init(_ status: Int, _ type: String, _ bytes: [UInt8]) {
        self.status = status
        self.type = type
        body = .bytes(bytes)
    }

    static func json(_ object: JSONObject, status: Int = 200) -> WebReply {
        WebReply(status, "application/json; charset=utf-8", JSONValue.object(object).jsonBytes)
    }

    /// - Parameters:
    ///   - code: for programs.
    ///   - message: for people.
    static func error(_ status: Int, _ code: String, _ message: String) -> WebReply {
        json(["error": .string(code), "message": .string(message)], status: status)
    }

    static var tooManyTokens: WebReply {
        var reply = error(429, "too_many", "Too many wrong tokens; wait a minute.")
        reply.headers = [("Retry-After", "60")]
        return reply
    }

    static func events(_ slot: StreamSlot) -> WebReply {
        var reply = WebReply(200, "text/event-stream; charset=utf-8", [])
        reply.body = .events(slot)
        // What stands between must not wait for more.
        reply.headers = [("X-Accel-Buffering", "no")]
        return reply
    }

    /// On every answer. Scripts and styles only from here and none inside a page: what a job or a token is called is text,
    /// and were it ever taken for more, it would not run.
    static let securityHeaders: [(name: String, value: String)] = [
        (
            "Content-Security-Policy",
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
                + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        ),
        ("X-Frame-Options", "DENY"),
        ("X-Content-Type-Options", "nosniff"),
        ("Referrer-Policy", "no-referrer"),
        ("Cross-Origin-Opener-Policy", "same-origin"),
        ("Cross-Origin-Resource-Policy", "same-origin"),
        ("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
        ("Cache-Control", "no-store"),
    ]
}
