internal import FanfareJSON
public import FanfareModel

/// The identity of a project's sends: a credential file that was read, or the metadata server of Google Cloud.
///
/// Equal values ask for access tokens in the same way. Printing and dumping show no secret.
public enum Credential: Equatable, Sendable, Redacted {
    case serviceAccount(ServiceAccount)
    case externalAccount(ExternalAccount)
    case impersonated(ImpersonatedServiceAccount)
    case authorizedUser(AuthorizedUser)
    case metadata(MetadataServer)

    /// A larger file is refused, and so is a larger file of a subject token.
    public static let maximumBytes = 65_536

    /// Reads a credential file.
    ///
    /// - Parameter folder: the file's folder with a slash at its end, where relative paths in the file start; empty for
    ///   the working directory.
    public static func parse(_ bytes: [UInt8], folder: String = "") throws(CredentialError) -> Credential {
        var fields = try CredentialFields(file: bytes)
        fields.folder = folder
        return switch try kind(of: fields) {
        case .serviceAccount: .serviceAccount(try ServiceAccount(fields))
        case .externalAccount: .externalAccount(try ExternalAccount(fields))
        case .impersonated: .impersonated(try ImpersonatedServiceAccount(fields))
        case .authorizedUser: .authorizedUser(try AuthorizedUser(fields))
        case .metadata: throw fields.error("type", "must not be metadata; set credentials: metadata instead")
        }
    }

    static func kind(of fields: CredentialFields) throws(CredentialError) -> CredentialKind {
        if fields.object["type"] == nil, fields.object["project_info"] != nil {
            let remedy = "Firebase console: Project settings, Service accounts, Generate new private key"
            throw CredentialError(reason: "the app's google-services.json; make a service account's key (\(remedy))")
        }
        let type = try fields.text("type")
        if let kind = CredentialKind(rawValue: type) { return kind }
        switch type {
        case "external_account_authorized_user":
            throw fields.error("type", "\(type) is a user's login; make an external_account file for a program")
        case "gdch_service_account":
            throw fields.error("type", "\(type) has no access to FCM; use a service account of Google Cloud")
        default:
            // The text may be a secret in the wrong place.
            throw fields.error(
                "type",
                "must be service_account, external_account, impersonated_service_account or authorized_user"
            )
        }
    }

    public var kind: CredentialKind {
        switch self {
        case .serviceAccount: .serviceAccount
        case .externalAccount: .externalAccount
        case .impersonated: .impersonated
        case .authorizedUser: .authorizedUser
        case .metadata: .metadata
        }
    }

    /// The FCM project that the credential names; nil if the configuration's project id is to be used.
    public var projectID: String? {
        if case .serviceAccount(let account) = self { return account.projectID }
        return nil
    }

    /// The project that is billed for requests, for the header `x-goog-user-project`; nil for the identity's own.
    public var quotaProjectID: String? {
        switch self {
        case .serviceAccount, .metadata: nil
        case .externalAccount(let account): account.quotaProjectID
        case .impersonated(let account): account.quotaProjectID
        case .authorizedUser(let user): user.quotaProjectID
        }
    }

    /// The PEM text of the key that signs the first request; nil if none is signed.
    public var privateKey: [UInt8]? {
        switch self {
        case .serviceAccount(let account): account.privateKey
        case .impersonated(let account): account.source.credential.privateKey
        case .externalAccount, .authorizedUser, .metadata: nil
        }
    }

    /// Every URL that a token or a secret is sent to or read from.
    public var urls: [CredentialURL] {
        switch self {
        case .serviceAccount(let account): return [CredentialURL("token_uri", account.tokenURI)]
        case .authorizedUser(let user): return [CredentialURL("token_uri", user.tokenURI)]
        case .externalAccount(let account):
            var urls = [CredentialURL("token_url", account.tokenURL)]
            if case .url(let url, _) = account.source {
                urls.append(CredentialURL("credential_source.url", url, servesSubjectTokens: true))
            }
            return urls + (account.impersonation.map { [CredentialURL(Impersonation.field, $0.url)] } ?? [])
        case .impersonated(let account):
            let source = account.source.credential.urls.map {
                CredentialURL("source_credentials.\($0.field)", $0.url, servesSubjectTokens: $0.servesSubjectTokens)
            }
            return source + [CredentialURL(Impersonation.field, account.target.url)]
        case .metadata(let server):
            return [CredentialURL("GCE_METADATA_HOST", server.tokenURL, servesSubjectTokens: true)]
        }
    }

    /// The identity that needs FCM's role, for messages.
    public var identity: String {
        switch self {
        case .serviceAccount(let account): account.clientEmail
        case .externalAccount(let account): account.impersonation?.email ?? "the external identity (principal://…)"
        case .impersonated(let account): account.target.email
        case .authorizedUser: "the user"
        case .metadata: "the attached service account"
        }
    }

    public var description: String {
        switch self {
        case .serviceAccount(let account): "\(account)"
        case .externalAccount(let account):
            "external account" + (account.impersonation.map { " as \($0.email)" } ?? "")
        case .impersonated(let account): "impersonated service account \(account.target.email)"
        case .authorizedUser: "authorized user"
        case .metadata(let server): "metadata server \(server.host)"
        }
    }
}

/// The kind of a credential: the `type` of its file, or `metadata`.
public enum CredentialKind: String, Equatable, Sendable {
    case serviceAccount = "service_account"
    case externalAccount = "external_account"
    case impersonated = "impersonated_service_account"
    case authorizedUser = "authorized_user"
    case metadata
}

/// A user's login, as `gcloud auth application-default login` writes it (AIP-4113).
public struct AuthorizedUser: Equatable, Sendable, Redacted {
    private static let googleTokenURI = "https://oauth2.googleapis.com/token"

    let client: OAuthClient
    let refreshToken: String
    let tokenURI: String
    let quotaProjectID: String?

    init(_ fields: CredentialFields) throws(CredentialError) {
        client = OAuthClient(id: try fields.text("client_id"), secret: try fields.text("client_secret"))
        refreshToken = try fields.text("refresh_token")
        tokenURI =
            try fields.optionalText("token_uri") == nil ? Self.googleTokenURI : try fields.url("token_uri")
        quotaProjectID = try fields.projectID("quota_project_id")
    }

    public var description: String { "authorized user" }
}

/// A service account that another identity acts as.
public struct ImpersonatedServiceAccount: Equatable, Sendable, Redacted {
    /// The identity that acts: of any kind but this one.
    enum Source: Equatable, Sendable {
        case serviceAccount(ServiceAccount)
        case externalAccount(ExternalAccount)
        case authorizedUser(AuthorizedUser)

        var credential: Credential {
            switch self {
            case .serviceAccount(let account): .serviceAccount(account)
            case .externalAccount(let account): .externalAccount(account)
            case .authorizedUser(let user): .authorizedUser(user)
            }
        }
    }

    let source: Source
    let target: Impersonation
    let quotaProjectID: String?

    init(_ fields: CredentialFields) throws(CredentialError) {
        guard let target = try Impersonation(fields) else { throw fields.error(Impersonation.field, "missing") }
        guard let inner = try fields.object("source_credentials") else {
            throw fields.error("source_credentials", "missing")
        }
        switch try Credential.kind(of: inner) {
        case .serviceAccount: source = .serviceAccount(try ServiceAccount(inner))
        case .externalAccount: source = .externalAccount(try ExternalAccount(inner))
        case .authorizedUser: source = .authorizedUser(try AuthorizedUser(inner))
        case .impersonated, .metadata:
            throw inner.error("type", "must be service_account, external_account or authorized_user")
        }
        self.target = target
        quotaProjectID = try fields.projectID("quota_project_id")
    }

    public var description: String { "impersonated service account \(target.email)" }
}

/// The metadata server of GCE, GKE and Cloud Run, which hands out tokens of the attached service account (AIP-4115).
public struct MetadataServer: Equatable, Sendable {
    public static let defaultHost = "metadata.google.internal"

    /// Host and port, without a scheme.
    public let host: String
    /// Whether the configuration names no credential, so that this server was only assumed.
    public let isAssumed: Bool

    /// - Parameter host: of `GCE_METADATA_HOST`; nil for Google's own name.
    public init(host: String? = nil, isAssumed: Bool = false) {
        (self.host, self.isAssumed) = (host ?? Self.defaultHost, isAssumed)
    }

    /// Where access tokens are read from. The scope is ignored on GCE and honoured on Cloud Run.
    public var tokenURL: String {
        "http://\(host)/computeMetadata/v1/instance/service-accounts/default/token?scopes="
            + TokenRequest.scope.percentEncoded
    }

    /// Where the email of the attached service account is read from.
    public var emailURL: String { "http://\(host)/computeMetadata/v1/instance/service-accounts/default/email" }

    /// Without it the server refuses the request.
    public static let header = "Metadata-Flavor: Google"
}
