internal import FanfareJSON

/// The reply to a request.
struct WebReply: Sendable {
    var status: Int
    var type: String
    var bytes: [UInt8] = []
    var headers: [(name: String, value: String)] = []
    /// The slot of server-sent events, which follow until the browser disconnects; nil for any other reply.
    var slot: StreamSlot?
    /// Writes the body in pieces, each of which is sent before the next is made; nil for any other reply.
    var body: Body?

    typealias Body = @Sendable (_ write: ([UInt8]) async throws -> Void) async throws -> Void
    /// The project whose events follow; nil for the overview.
    var project: String?

    static func json(
        _ object: JSONObject,
        status: Int = 200,
        headers: [(name: String, value: String)] = []
    ) -> WebReply {
        let bytes = JSONValue.object(object).jsonBytes
        return WebReply(status: status, type: "application/json; charset=utf-8", bytes: bytes, headers: headers)
    }

    static func text(_ text: String, type: String = "text/plain; charset=utf-8") -> WebReply {
        WebReply(status: 200, type: type, bytes: Array(text.utf8))
    }

    /// An error with a code for programs and a sentence for users.
    static func error(
        _ status: Int,
        _ code: String,
        _ message: String,
        headers: [(name: String, value: String)] = []
    ) -> WebReply {
        json(["error": .string(code), "message": .string(message)], status: status, headers: headers)
    }

    /// A reply whose body is written in pieces. If that throws, the connection breaks, so that no part passes for a whole.
    static func stream(
        _ type: String,
        headers: [(name: String, value: String)],
        body: @escaping Body
    ) -> WebReply {
        WebReply(status: 200, type: type, headers: headers, body: body)
    }

    static var tooManyTokens: WebReply {
        error(429, "too_many", "Too many wrong tokens; wait a minute.", headers: [("Retry-After", "60")])
    }

    static func events(_ slot: StreamSlot?, of project: String?) -> WebReply {
        // A proxy must not buffer events.
        let headers = [(name: "X-Accel-Buffering", value: "no")]
        return WebReply(
            status: 200,
            type: "text/event-stream; charset=utf-8",
            headers: headers,
            slot: slot,
            project: project
        )
    }

    /// Headers of every reply. Scripts and styles load from this server only and never inline, so text from jobs cannot
    /// run.
    static let securityHeaders: [(name: String, value: String)] = [
        (
            "Content-Security-Policy",
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
                + "base-uri 'self'; form-action 'none'; frame-ancestors 'none'"
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
