internal import FanfareJSON
public import FanfareModel

/// An identity of another provider, exchanged at Google's Security Token Service (AIP-4117).
public struct ExternalAccount: Equatable, Sendable, Redacted {
    /// Source of the subject token.
    public enum Source: Equatable, Sendable {
        /// A file, read again for each exchange. The credential file's folder is part of a path that was relative.
        case file(String)
        /// A GET with header lines.
        case url(String, headers: [String])
    }

    public let source: Source
    /// The member of the JSON object that holds the subject token; nil if the whole text is the token.
    let tokenField: String?
    public let audience: String
    let subjectTokenType: String
    /// The Security Token Service.
    let tokenURL: String
    /// The service account to act as; nil if roles are granted to the external identity itself.
    let impersonation: Impersonation?
    /// Billed for the requests of a workforce identity.
    let userProject: String?
    /// Authenticates the exchange with HTTP Basic; nil for none.
    let client: OAuthClient?
    let quotaProjectID: String?

    private static let defaultUniverse = "googleapis.com"
    private static let maximumHeaders = 16

    init(_ fields: CredentialFields) throws(CredentialError) {
        guard let source = try fields.object("credential_source") else {
            throw fields.error("credential_source", "missing")
        }
        subjectTokenType = try fields.text("subject_token_type")
        try Self.refuseOtherSources(source, subjectTokenType: subjectTokenType)
        (self.source, tokenField) = (try Self.source(source), try Self.tokenField(source))
        audience = try fields.text("audience")
        let universe = try fields.optionalText("universe_domain") ?? Self.defaultUniverse
        tokenURL =
            try fields.optionalText("token_url") == nil
            ? "https://sts.\(universe)/v1/token" : try fields.url("token_url")
        guard CredentialURL.isAbsolute(tokenURL) else { throw fields.error("universe_domain", "must be a domain") }
        impersonation = try Impersonation(fields)
        userProject = try fields.projectID("workforce_pool_user_project")
        guard userProject == nil || Self.isWorkforce(audience) else {
            throw fields.error("workforce_pool_user_project", "needs the audience of a workforce pool; leave it out")
        }
        client = try fields.optionalText("client_id").map { id throws(CredentialError) in
            OAuthClient(id: id, secret: try fields.optionalText("client_secret") ?? "")
        }
        quotaProjectID = try fields.projectID("quota_project_id")
    }

    /// `//iam.googleapis.com/locations/LOCATION/workforcePools/POOL/providers/PROVIDER`
    private static func isWorkforce(_ audience: String) -> Bool {
        audience.hasPrefix("//iam.googleapis.com/locations/") && audience.contains("/workforcePools/")
    }

    private static func refuseOtherSources(
        _ source: CredentialFields,
        subjectTokenType: String
    ) throws(CredentialError) {
        if source.object["executable"] != nil {
            throw source.error(
                "executable",
                "Fanfare runs no program; let the program write its token to a file, and name that in file"
            )
        }
        if source.object["environment_id"] != nil || subjectTokenType.contains(":aws:") {
            throw source.error(
                "environment_id",
                "Fanfare signs no AWS request; use an OIDC token, which EKS projects into a file, and name that in file"
            )
        }
        if source.object["certificate"] != nil {
            throw source.error("certificate", "Fanfare presents no X.509 identity; use a token from file or url")
        }
    }

    private static func source(_ fields: CredentialFields) throws(CredentialError) -> Source {
        switch (try fields.optionalText("file"), try fields.optionalText("url")) {
        case (let path?, nil):
            guard !path.utf8.contains(0), path.utf8.count < 4_096 else { throw fields.error("file", "must be a path") }
            return .file(path.hasPrefix("/") ? path : fields.folder + path)
        case (nil, .some): return .url(try fields.url("url"), headers: try headers(fields))
        case (nil, nil): throw fields.error("file", "missing; name a file or a url with the subject token")
        case (.some, .some): throw fields.error("file", "stands beside url; leave one out")
        }
    }

    private static func headers(_ fields: CredentialFields) throws(CredentialError) -> [String] {
        guard let given = try fields.object("headers") else { return [] }
        guard given.object.count <= maximumHeaders else { throw fields.error("headers", "at most \(maximumHeaders)") }
        var lines: [String] = []
        for member in given.object.members {
            let isName = { (byte: UInt8) in byte.isASCIIAlphanumeric || "-_".utf8.contains(byte) }
            guard let value = member.value.string, !member.key.isEmpty, member.key.utf8.allSatisfy(isName),
                !value.isEmpty, value.utf8.allSatisfy({ (0x20...0x7E).contains($0) })
            else { throw fields.error("headers", "must be names and values of visible ASCII") }
            lines.append("\(member.key): \(value)")
        }
        return lines
    }

    private static func tokenField(_ fields: CredentialFields) throws(CredentialError) -> String? {
        guard let format = try fields.object("format") else { return nil }
        switch try format.optionalText("type") ?? "text" {
        case "text": return nil
        case "json": return try format.text("subject_token_field_name")
        default: throw format.error("type", "must be text or json")
        }
    }

    public var description: String { "external account" }
}

/// A service account that another identity acts as: `service_account_impersonation_url` and its settings.
struct Impersonation: Equatable, Sendable {
    static let field = "service_account_impersonation_url"
    private static let action = ":generateAccessToken"

    let url: String
    /// The service account's email.
    let email: String
    /// Service accounts between the source identity and ``email``.
    let delegates: [String]
    let lifetimeSeconds: Int64

    /// nil if the file names no service account to act as.
    init?(_ fields: CredentialFields) throws(CredentialError) {
        guard try fields.optionalText(Self.field) != nil else { return nil }
        url = try fields.url(Self.field)
        let email = url.dropLast(Self.action.count).split(separator: "/").last.map(String.init) ?? ""
        guard url.hasSuffix(Self.action), email.utf8.contains(UInt8(ascii: "@")) else {
            throw fields.error(Self.field, "must end with /serviceAccounts/EMAIL\(Self.action)")
        }
        self.email = email
        delegates = try Self.delegates(fields)
        // The longer ones need an organisation policy.
        let settings = try fields.object("service_account_impersonation")
        lifetimeSeconds = try settings?.number("token_lifetime_seconds", 600...43_200) ?? 3_600
    }

    private static func delegates(_ fields: CredentialFields) throws(CredentialError) -> [String] {
        switch fields.object["delegates"] {
        case nil, .null: return []
        case .array(let values):
            let names = values.compactMap(\.string)
            guard names.count == values.count, names.count <= 16 else { fallthrough }
            // A bare email is accepted as Google's libraries accept it.
            return names.map { $0.contains("/") ? $0 : "projects/-/serviceAccounts/\($0)" }
        case .some: throw fields.error("delegates", "must be at most 16 service accounts")
        }
    }
}

/// An OAuth client's id and secret.
struct OAuthClient: Equatable, Sendable, Redacted {
    let id: String
    let secret: String

    /// The value of a header `Authorization`.
    var basic: String { "Basic " + String(decoding: Base64.encode(Array("\(id):\(secret)".utf8)), as: UTF8.self) }

    var description: String { "[client]" }
}
