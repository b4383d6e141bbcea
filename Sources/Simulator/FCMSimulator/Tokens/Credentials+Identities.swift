import FanfareJSON
import FanfareModel

/// Access tokens for identities without a service account's key.
extension Credentials {
    /// The service account of the machine that the metadata server speaks for.
    static let machineEmail = "sandbox-machine@sandbox.iam.gserviceaccount.com"

    /// - Parameter newToken: the token to issue.
    mutating func answer(
        _ request: IdentityRequest,
        authorization: String?,
        newToken: String,
        nowMs: Int64
    ) throws(IdentityError) -> SimulatorReply {
        switch request {
        case .refresh(let id, let secret, let token):
            guard let project = projects.first(where: { ($0.identity?.clientID).isExactly(id) }),
                let known = project.identity,
                known.clientSecret.isExactly(secret)
            else { throw .oauth(OAuthError("invalid_client", "The OAuth client was not found.", status: 401)) }
            guard known.refreshToken.isExactly(token) else {
                throw .oauth(OAuthError("invalid_grant", "Token has been expired or revoked."))
            }
            return grant(newToken, to: project.id, TokenScopes.all, nowMs: nowMs)
        case .exchange(let audience, let token, let scopes):
            guard let project = projects.first(where: { ($0.identity?.audience).isExactly(audience) }) else {
                let sentence =
                    "The target service indicated by the \"audience\" parameters is invalid. This might either be "
                    + "because the pool or provider is disabled or deleted or because it doesn't exist."
                throw .oauth(OAuthError("invalid_target", sentence))
            }
            guard (project.identity?.subjectToken).isExactly(token) else {
                throw .oauth(OAuthError("invalid_grant", "The subject token is not valid for this provider."))
            }
            let type: JSONValue = "urn:ietf:params:oauth:token-type:access_token"
            return grant(newToken, to: project.id, scopes, nowMs: nowMs, more: ["issued_token_type": type])
        case .impersonate(let email, let seconds, let scopes):
            try mayImpersonate(email, authorization: authorization, nowMs: nowMs)
            let project = projects.first { $0.serviceAccountEmail.isExactly(email) }
            let lifetime = min(seconds, lifetimeSeconds)
            issue(
                newToken,
                .init(project: project?.id, scopes: scopes, expiresMs: nowMs + lifetime * 1_000),
                nowMs: nowMs
            )
            let endMs = (nowMs / 1_000 + lifetime) * 1_000
            let end = CalendarTime(unixMs: endMs).rfc3339.replacing(".000Z", with: "Z")
            return SimulatorReply(object: ["accessToken": .string(newToken), "expireTime": .string(end)])
        }
    }

    private func mayImpersonate(_ email: String, authorization: String?, nowMs: Int64) throws(IdentityError) {
        let grant: AccessTokens.Grant
        switch validity(authorization, nowMs: nowMs) {
        case .missing: throw .api(.missingCredential)
        case .unknown: throw .api(.badCredential(reason: "ACCESS_TOKEN_TYPE_UNSUPPORTED"))
        case .expired: throw .api(.badCredential(reason: "ACCESS_TOKEN_EXPIRED"))
        case .valid(let valid): grant = valid
        }
        guard grant.scopes.mayImpersonate else { throw .api(.insufficientScope) }
        guard let project = projects.first(where: { $0.serviceAccountEmail.isExactly(email) }) else {
            throw .api(APIError(.notFound, "Not found; Gaia id not found for email \(email.prefix(200))"))
        }
        guard grant.belongs(to: project.id) else { throw .api(.mayNotImpersonate) }
    }

    /// The metadata server: who the machine is, and its access tokens.
    ///
    /// - Parameter path: below `/computeMetadata/v1/`, without a slash at its end.
    mutating func metadata(_ path: String, newToken: String, nowMs: Int64) -> SimulatorReply {
        let account = "instance/service-accounts/"
        switch path {
        case "": return SimulatorReply(plain: "instance/\nproject/\n")
        case "project/project-id": return SimulatorReply(plain: projects.first?.id ?? "")
        case "project/numeric-project-id": return SimulatorReply(plain: projects.first?.senderID ?? "")
        case "universe/universe-domain": return SimulatorReply(plain: "googleapis.com")
        case account + "default/email", account + Self.machineEmail + "/email":
            return SimulatorReply(plain: Self.machineEmail)
        case account + "default/scopes", account + Self.machineEmail + "/scopes":
            return SimulatorReply(plain: "https://www.googleapis.com/auth/cloud-platform\n")
        case account + "default", account + Self.machineEmail:
            return SimulatorReply(object: [
                "aliases": .strings(["default"]), "email": .string(Self.machineEmail),
                "scopes": .strings(["https://www.googleapis.com/auth/cloud-platform"]),
            ])
        case account + "default/token", account + Self.machineEmail + "/token":
            return grant(newToken, to: nil, TokenScopes.all, nowMs: nowMs)
        default: return SimulatorReply(page: 404, "The requested URL was not found on this server.")
        }
    }

    private mutating func grant(
        _ token: String,
        to project: String?,
        _ scopes: TokenScopes,
        nowMs: Int64,
        more: JSONObject = JSONObject()
    ) -> SimulatorReply {
        issue(token, .init(project: project, scopes: scopes, expiresMs: nowMs + lifetimeSeconds * 1_000), nowMs: nowMs)
        var object: JSONObject = [
            "access_token": .string(token), "expires_in": .integer(max(1, lifetimeSeconds - 1)),
            "token_type": "Bearer",
        ]
        object.merge(more)
        return SimulatorReply(object: object)
    }
}

/// Why an identity gets no access token: in the form of OAuth, or of Google's APIs.
enum IdentityError: Error, Equatable, Sendable {
    case oauth(OAuthError)
    case api(APIError)

    var reply: SimulatorReply {
        switch self {
        case .oauth(let error): error.reply
        case .api(let error): error.reply
        }
    }
}

extension APIError {
    static let mayNotImpersonate: APIError = {
        let permission = "iam.serviceAccounts.getAccessToken"
        return APIError(
            .permissionDenied,
            "Permission '\(permission)' denied on resource (or it may not exist).",
            info: Info(
                reason: "IAM_PERMISSION_DENIED",
                domain: "iam.googleapis.com",
                metadata: ["permission": permission]
            )
        )
    }()
}

extension SimulatorReply {
    /// A text of the metadata server.
    fileprivate init(plain text: String) {
        self.init(status: 200, contentType: "application/text", text: text)
    }
}

/// The metadata server, on the control port.
extension Simulator {
    private static let metadataRoot = "/computeMetadata/v1"

    /// Whether the metadata server answers this request: everything below its path, and the root for a client that asks
    /// whether there is such a server.
    public static func isMetadata(_ request: SimulatorRequest) -> Bool {
        request.path.hasPrefix(metadataRoot + "/") || request.path == metadataRoot
            || (["/", ""].contains(request.path) && request.metadataFlavor != nil)
    }

    mutating func answerMetadata(_ request: SimulatorRequest, newToken: String, now: Int64) -> SimulatorReply {
        let reply: SimulatorReply
        if request.metadataFlavor != "Google" {
            reply = SimulatorReply(page: 403, "Your client does not have permission to get this URL.")
        } else if request.method != "GET" {
            reply = SimulatorReply(page: 405, "The request method is inappropriate for the URL.")
        } else {
            let path = request.path.dropFirst(Self.metadataRoot.count).split(separator: "/").joined(separator: "/")
            reply = credentials.metadata(path, newToken: newToken, nowMs: callersTime(now))
        }
        return reply.adding("metadata-flavor", "Google")
    }
}
