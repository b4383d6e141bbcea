import FanfareJSON

/// The projects and their access tokens: it decides what a request's `Authorization` allows.
///
/// All times are the caller's, without what `/clock` added: the other end is a real client, which signs with its own
/// clock and renews its token by it. Judged by the moved clock, no token would ever be valid again.
struct Credentials: Sendable {
    let projects: Projects
    /// Values that the `aud` of an assertion may have.
    var audiences: Set<String> = []
    /// How long a new access token lives.
    var lifetimeSeconds: Int64 = 3_600
    private var tokens = AccessTokens()

    init(projects: Projects) {
        self.projects = projects
    }

    // MARK: Access tokens

    /// `POST /token`: exchanges a signed assertion for an access token.
    mutating func exchange(_ request: TokenRequest, proof: TokenProof?, nowMs: Int64) -> SimulatorReply {
        guard projects.project(serviceAccount: request.email) != nil else {
            return TokenRefusal("invalid_grant", "Invalid grant: account not found").reply
        }
        guard let proof, proof.isSignatureValid else {
            return TokenRefusal("invalid_grant", "Invalid JWT Signature.").reply
        }
        switch request.scope(audiences: audiences, nowMs: nowMs) {
        case .failure(let refusal): return refusal.reply
        case .success(let maySend):
            tokens.issue(
                proof.newToken,
                AccessTokens.Grant(
                    email: request.email,
                    maySend: maySend,
                    expiresMs: nowMs + lifetimeSeconds * 1_000
                ),
                nowMs: nowMs
            )
            let body: JSONObject = [
                "access_token": .string(proof.newToken),
                "expires_in": .number(JSONNumber(max(1, lifetimeSeconds - 1))), "token_type": "Bearer",
            ]
            return SimulatorReply(status: 200, json: JSONValue.object(body).jsonBytes)
        }
    }

    // MARK: What a request may do

    /// HTTP v1: why the request may not act for the project; nil if it may.
    func refusal(of request: SimulatorRequest, project: SimulatedProject, nowMs: Int64) -> APIError? {
        switch tokens.validity(authorization: request.authorization, nowMs: nowMs) {
        case .missing: return .missingCredential
        case .unknown: return .badCredential(reason: "ACCESS_TOKEN_TYPE_UNSUPPORTED")
        case .expired: return .badCredential(reason: "ACCESS_TOKEN_EXPIRED")
        case .valid(let grant):
            guard grant.maySend else { return .insufficientScope }
            return grant.email == project.serviceAccountEmail ? nil : .permissionDenied(project: project.id)
        }
    }

    /// Legacy sends and groups: the project that the server key or the access token belongs to; nil without such a
    /// credential, or if the header `project_id` names another project.
    func legacyProject(of request: SimulatorRequest, nowMs: Int64) -> SimulatedProject? {
        guard let authorization = request.authorization else { return nil }
        var project: SimulatedProject?
        if let key = Self.serverKey(authorization) {
            project = projects.project(serverKey: key)
        } else if case .valid(let grant) = accessToken(of: request, nowMs: nowMs), grant.maySend {
            project = projects.project(serviceAccount: grant.email)
        }
        if let sender = request.projectIDHeader, sender != project?.senderID { return nil }
        return project
    }

    /// The answer to a legacy request without a valid credential. Its page tells whether the key is one for apps.
    func unauthorized(_ request: SimulatorRequest) -> SimulatorReply {
        let isAppKey = projects.all.contains { project in
            project.appKeys.contains { request.authorization == "key=" + $0 }
        }
        return Pages.html(
            401,
            isAppKey ? "This key is one for apps. Use a server key." : "The request was not authorized."
        )
    }

    /// The Instance ID API: the project that the request acts for.
    func topicProject(of request: SimulatorRequest, nowMs: Int64) throws(TopicRefusal) -> SimulatedProject {
        if let key = request.authorization.flatMap(Self.serverKey) {
            guard let project = projects.project(serverKey: key) else { throw .unauthenticated }
            return project
        }
        guard case .valid(let grant) = accessToken(of: request, nowMs: nowMs) else { throw .unauthenticated }
        guard grant.maySend, let project = projects.project(serviceAccount: grant.email) else { throw .forbidden }
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
