internal import FanfareJSON

/// The reply to a request.
struct WebReply: Sendable {
    enum Body: Sendable {
        case bytes([UInt8])
        /// Server-sent events, until the browser disconnects.
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
    ///   - code: the error code for programs.
    ///   - message: a sentence for users.
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
        // A proxy must not buffer events.
        reply.headers = [("X-Accel-Buffering", "no")]
        return reply
    }

    /// Headers of every reply. Scripts and styles load from this server only and never inline, so text from jobs cannot
    /// run.
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
