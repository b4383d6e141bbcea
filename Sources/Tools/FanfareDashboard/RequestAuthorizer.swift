internal import FanfareHTTP
internal import FanfareModel

/// Decides whether a request may read, and whether it may act. Does no I/O.
///
/// There are three rules. Another site that is open in the same browser may neither read nor act: its requests carry
/// another `Host` (DNS rebinding), or another `Origin` and no ``header``. A user needs the token, or a session that began
/// with it. A read-only dashboard refuses all actions. The metrics have a token of their own, so that a scraper need not
/// hold the one of operators.
struct RequestAuthorizer: Sendable {
    let options: DashboardOptions

    static let cookie = "fanfare_session"
    /// A page of another origin can set this header only after a CORS preflight, which is never allowed.
    static let header = "x-fanfare-request"

    /// The error for a request; nil if it may be routed.
    func error(for request: WebRequest, sessions: Sessions, now: Duration) async -> WebReply? {
        if let error = hostError(request) { return error }
        let isChange = request.method == "POST"
        if isChange, let error = forgeryError(request) { return error }
        // Check the decoded parts, which are routed: a path can spell them differently (`//api`, `/%61pi`).
        let isGuarded = request.parts.map { ["api", "metrics"].contains($0.first) } ?? true
        let scrapeToken = request.parts == ["metrics"] ? options.metricsToken : nil
        if isGuarded, let error = await loginError(of: request, accepting: scrapeToken, sessions: sessions, now: now) {
            return error
        }
        // The story of a token is a query: it is posted so that no address holds the token.
        if isChange, options.isReadOnly, isGuarded, request.parts != ["api", "token"] {
            return .error(403, "read_only", "This dashboard is read-only.")
        }
        return nil
    }

    /// The error for a request that neither gives the token nor has a session that began with it; nil if it may read.
    ///
    /// - Parameter other: another token that the request may give.
    func loginError(
        of request: WebRequest,
        accepting other: String? = nil,
        sessions: Sessions,
        now: Duration
    ) async -> WebReply? {
        let unauthenticated = WebReply.error(401, "unauthorized", "Log in first.", headers: [BearerCheck.challenge])
        switch BearerCheck([options.token, other].compactMap { $0.map(BearerToken.init) }).check(request) {
        case .accepted: return nil
        case .wrong: return await sessions.refuse(peer: request.peer, now: now) ? unauthenticated : .tooManyTokens
        case .missing:
            guard let session = request.cookie(Self.cookie) else { return unauthenticated }
            return await sessions.isOpen(session, now: now) ? nil : unauthenticated
        }
    }

    private func hostError(_ request: WebRequest) -> WebReply? {
        guard let name = request.host else {
            return .error(400, "bad_host", "The request names no host.")
        }
        // On other addresses the token protects, and a browser sends no cookie to a rebound name.
        guard options.isLoopback else { return nil }
        guard Loopback.names(name) || options.allowedHosts.contains(name) else {
            return .error(421, "unknown_host", "This address only accepts names of this machine.")
        }
        return nil
    }

    private func forgeryError(_ request: WebRequest) -> WebReply? {
        let forged = WebReply.error(403, "forged", "The request does not come from this page.")
        guard request.headers[Self.header] == "1" else { return forged }
        if let site = request.headers["sec-fetch-site"], site != "same-origin", site != "none" { return forged }
        if let origin = request.headers["origin"]?.lowercased(), let host = request.headers["host"]?.lowercased() {
            guard origin == "http://\(host)" || origin == "https://\(host)" else { return forged }
        }
        let type = request.headers["content-type"]?.split(separator: ";").first.map { $0.lowercased() }
        guard type == "application/json" else {
            return .error(415, "not_json", "The body must be application/json.")
        }
        return nil
    }
}
