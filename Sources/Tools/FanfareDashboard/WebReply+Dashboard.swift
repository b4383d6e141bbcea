internal import FanfareHTTP

extension WebReply {
    static var tooManyTokens: WebReply {
        error(429, "too_many", "Too many wrong tokens; wait a minute.", headers: [("Retry-After", "60")])
    }

    /// Server-sent events, which follow until the browser disconnects.
    static func events(_ body: Body?) -> WebReply {
        // A proxy must not buffer events.
        let headers = [(name: "X-Accel-Buffering", value: "no")]
        return WebReply(status: 200, type: "text/event-stream; charset=utf-8", headers: headers, body: body)
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
