internal import FanfareModel

/// Who is let in, and who may change something. Decides by what a request says; without I/O.
///
/// Three things are kept apart. A page of somebody else's that is open in the same browser must not read or act: its
/// requests carry another `Host` (when its name was pointed at this machine), or another `Origin` and no header of ours.
/// A person who may not look must not look: the token, or a session that was begun with it. A dashboard that is read-only
/// changes nothing for anybody.
struct RequestAuthorizer: Sendable {
    let options: DashboardOptions

    static let cookie = "fanfare_session"
    /// A page of another origin cannot set it without asking first, and is never told yes.
    static let header = "x-fanfare-request"

    /// nil for a request that may be looked at further.
    func refusal(of request: WebRequest, sessions: Sessions, now: Duration) async -> WebReply? {
        if let refusal = hostRefusal(request) { return refusal }
        let isChange = request.method == "POST"
        if isChange, let refusal = forgeryRefusal(request) { return refusal }
        // By the parts, which are what is routed by: the path may spell them in other ways (`//api`, `/%61pi`).
        let isGuarded = request.parts.map { $0.first == "api" } ?? true
        if isGuarded {
            switch await authentication(of: request, sessions: sessions, now: now) {
            case .authenticated: break
            case .unauthenticated:
                var reply = WebReply.error(401, "unauthorized", "Log in first.")
                reply.headers.append(("WWW-Authenticate", "Bearer realm=\"fanfare\""))
                return reply
            case .rateLimited: return .tooManyTokens
            }
        }
        if isChange, options.isReadOnly, isGuarded {
            return .error(403, "read_only", "This dashboard is read-only.")
        }
        return nil
    }

    enum Authentication {
        /// Has shown the token, now or when the session began.
        case authenticated
        case unauthenticated
        /// One wrong token too many.
        case rateLimited
    }

    func authentication(of request: WebRequest, sessions: Sessions, now: Duration) async -> Authentication {
        guard let token = options.token else { return .authenticated }
        if let header = request.headers["authorization"] {
            if BearerToken(token).accepts(authorization: header) { return .authenticated }
            return await sessions.refuse(peer: request.peer, now: now) ? .unauthenticated : .rateLimited
        }
        guard let session = request.cookie(Self.cookie) else { return .unauthenticated }
        return await sessions.isOpen(session, now: now) ? .authenticated : .unauthenticated
    }

    private func hostRefusal(_ request: WebRequest) -> WebReply? {
        guard let host = request.host, let name = Self.name(ofAuthority: host) else {
            return .error(400, "bad_host", "The request names no host.")
        }
        // Elsewhere the token stands before everything, and cookies do not follow a name that was pointed here.
        guard options.isLoopback else { return nil }
        guard Loopback.names(name) || options.allowedHosts.contains(name) else {
            return .error(421, "unknown_host", "This address answers to names of this machine only.")
        }
        return nil
    }

    private func forgeryRefusal(_ request: WebRequest) -> WebReply? {
        let forged = WebReply.error(403, "forged", "The request does not come from this page.")
        guard request.headers[Self.header] == "1" else { return forged }
        if let site = request.headers["sec-fetch-site"], site != "same-origin", site != "none" { return forged }
        if let origin = request.headers["origin"]?.lowercased(), let host = request.host?.lowercased() {
            guard origin == "http://\(host)" || origin == "https://\(host)" else { return forged }
        }
        let type = request.headers["content-type"]?.split(separator: ";").first.map { $0.lowercased() }
        guard type == "application/json" else {
            return .error(415, "not_json", "The body must be application/json.")
        }
        return nil
    }

    /// The host of `host[:port]`, in lower case and without an IPv6 address's brackets.
    static func name(ofAuthority authority: String) -> String? {
        var name = authority[...]
        if name.hasPrefix("[") {
            guard let end = name.firstIndex(of: "]") else { return nil }
            let port = name[name.index(after: end)...]
            guard port.isEmpty || port.hasPrefix(":") else { return nil }
            name = name[name.index(after: name.startIndex)..<end]
        } else if let colon = name.firstIndex(of: ":") {
            guard name[name.index(after: colon)...].utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
            name = name[..<colon]
        }
        return name.isEmpty ? nil : name.lowercased()
    }
}
