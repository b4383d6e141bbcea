internal import FanfareModel

extension FCMModel.Answer {
    /// The outcome that a transport reports for this answer.
    var outcome: RequestOutcome {
        switch self {
        case .accepted: .answered(HTTPAnswer(status: 200, body: Body.accepted, contentType: Self.json))
        case .failed: .answered(HTTPAnswer(status: 404, body: Body.unregistered, contentType: Self.json))
        case .busy(let retryAfterMs): refused(503, Body.unavailable, retryAfterMs)
        case .slowDown(let retryAfterMs): refused(429, Body.rateLimit, retryAfterMs)
        case .lost: .ambiguous(reason: "timeout")
        case .unsent: .unsent(reason: "no connection")
        }
    }

    private static let json = "application/json; charset=UTF-8"

    /// A Retry-After counts whole seconds.
    private func refused(_ status: Int, _ body: [UInt8], _ retryAfterMs: Int64?) -> RequestOutcome {
        let retryAfter = retryAfterMs.map { String(($0 + 999) / 1_000) }
        return .answered(HTTPAnswer(status: status, body: body, contentType: Self.json, retryAfter: retryAfter))
    }

    private enum Body {
        static let accepted = Array(#"{"name":"projects/p/messages/1"}"#.utf8)
        static let unavailable = Array(#"{"error":{"code":503,"status":"UNAVAILABLE"}}"#.utf8)
        static let unregistered = Array(
            """
            {"error":{"code":404,"status":"NOT_FOUND","details":[{"@type":
            "type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":"UNREGISTERED"}]}}
            """.utf8
        )
        static let rateLimit = Array(
            """
            {"error":{"code":429,"status":"RESOURCE_EXHAUSTED","details":[{"@type":
            "type.googleapis.com/google.rpc.ErrorInfo","reason":"RATE_LIMIT_EXCEEDED"}]}}
            """.utf8
        )
    }
}
