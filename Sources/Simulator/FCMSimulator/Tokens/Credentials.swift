import FanfareJSON

/// The projects and their access tokens: it decides what a request's `Authorization` allows.
///
/// All times are the caller's, without what `/clock` added: the other end is a real client, which signs with its own
/// clock and renews its token by it. Judged by the moved clock, no token would ever be valid again.
struct Credentials: Sendable {
    let projects: [SimulatedProject]
    /// Values that the `aud` of an assertion may have.
    let audiences: Set<String>
    /// How long a new access token lives.
    let lifetimeSeconds: Int64
    private var tokens = AccessTokens()

    init(_ configuration: SimulatorConfiguration) {
        projects = configuration.projects
        audiences = configuration.tokenAudiences
        lifetimeSeconds = configuration.tokenLifetimeSeconds
    }

    // MARK: Access tokens

    /// `POST /token`: exchanges a signed assertion for an access token.
    ///
    /// - Parameter newToken: the token to issue; nil if the assertion's signature is not valid.
    mutating func exchange(
        _ request: TokenRequest,
        newToken: String?,
        nowMs: Int64
    ) throws(OAuthError) -> SimulatorReply {
        guard let project = projects.first(where: { $0.serviceAccountEmail.isExactly(request.email) }) else {
            throw OAuthError("invalid_grant", "Invalid grant: account not found")
        }
        guard let newToken else { throw OAuthError("invalid_grant", "Invalid JWT Signature.") }
        let scopes = try request.scopes(audiences: audiences, nowMs: nowMs)
        let expiresMs = nowMs + lifetimeSeconds * 1_000
        issue(newToken, .init(project: project.id, scopes: scopes, expiresMs: expiresMs), nowMs: nowMs)
        return SimulatorReply(object: [
            "access_token": .string(newToken), "expires_in": .integer(max(1, lifetimeSeconds - 1)),
            "token_type": "Bearer",
        ])
    }

    mutating func issue(_ token: String, _ grant: AccessTokens.Grant, nowMs: Int64) {
        tokens.issue(token, grant, nowMs: nowMs)
    }

    // MARK: Authorization

    func validity(_ authorization: String?, nowMs: Int64) -> AccessTokens.Validity {
        tokens.validity(authorization: authorization, nowMs: nowMs)
    }

    /// HTTP v1: why the request may not act for the project; nil if it may.
    func error(of request: SimulatorRequest, project: SimulatedProject, nowMs: Int64) -> APIError? {
        switch tokens.validity(authorization: request.authorization, nowMs: nowMs) {
        case .missing: return .missingCredential
        case .unknown: return .badCredential(reason: "ACCESS_TOKEN_TYPE_UNSUPPORTED")
        case .expired: return .badCredential(reason: "ACCESS_TOKEN_EXPIRED")
        case .valid(let grant):
            guard grant.scopes.maySend else { return .insufficientScope }
            return grant.belongs(to: project.id) ? nil : .permissionDenied(project: project.id)
        }
    }

    /// Legacy sends and groups: the project of the server key or access token; nil if `project_id` names another one.
    func legacyProject(of request: SimulatorRequest, nowMs: Int64) -> SimulatedProject? {
        guard let authorization = request.authorization else { return nil }
        var project: SimulatedProject?
        if let key = Self.serverKey(authorization) {
            project = projects.first { $0.serverKey.isExactly(key) }
        } else if case .valid(let grant) = accessToken(of: request, nowMs: nowMs), grant.scopes.maySend {
            // The machine's account, which belongs to none, is told apart by the header.
            project = projects.first {
                grant.project == nil ? $0.senderID == request.projectIDHeader : $0.id == grant.project
            }
        }
        if let sender = request.projectIDHeader, sender != project?.senderID { return nil }
        return project
    }

    /// The answer to a legacy request without a valid credential. Its page differs for a key of an app.
    func unauthorized(_ request: SimulatorRequest) -> SimulatorReply {
        let isAppKey = projects.flatMap(\.appKeys).contains { request.authorization.isExactly("key=" + $0) }
        return SimulatorReply(
            page: 401,
            isAppKey ? "This key is one for apps. Use a server key." : "The request was not authorized."
        )
    }

    /// The Instance ID API: the project that the request acts for.
    func topicProject(of request: SimulatorRequest, nowMs: Int64) throws(TopicError) -> SimulatedProject {
        if let key = request.authorization.flatMap(Self.serverKey) {
            guard let project = projects.first(where: { $0.serverKey.isExactly(key) }) else { throw .unauthenticated }
            return project
        }
        guard case .valid(let grant) = accessToken(of: request, nowMs: nowMs) else { throw .unauthenticated }
        let project = projects.first { grant.belongs(to: $0.id) }
        guard grant.scopes.maySend, let project else { throw .forbidden }
        return project
    }

    private static func serverKey(_ authorization: String) -> String? {
        authorization.hasPrefix("key=") ? String(authorization.dropFirst("key=".count)) : nil
    }

    /// Outside HTTP v1 a bearer token counts only with the header `access_token_auth: true`.
    private func accessToken(of request: SimulatorRequest, nowMs: Int64) -> AccessTokens.Validity {
        guard request.accessTokenAuth else { return .missing }
        return tokens.validity(authorization: request.authorization, nowMs: nowMs)
    }
}
