import FanfareModel
import Testing

@testable import FCMWire

/// Every error of the token endpoints: what follows from it, and what the operator reads.
@Suite struct TokenAdviceTests {
    typealias Files = CredentialFiles

    struct Row: Sendable {
        var endpoint: TokenEndpoint
        var status: Int
        var body = ""
        var kind: TokenError.Kind
        /// The whole text that the operator reads.
        var text: String
        var file = Files.external(more: Files.impersonation)

        init(
            _ endpoint: TokenEndpoint,
            _ status: Int,
            _ body: String,
            _ kind: TokenError.Kind,
            _ text: String,
            file: String? = nil
        ) {
            (self.endpoint, self.status, self.body, self.kind, self.text) = (endpoint, status, body, kind, text)
            if let file { self.file = file }
        }
    }

    private static func oauth(_ error: String, _ description: String = "d") -> String {
        #"{"error":"\#(error)","error_description":"\#(description)"}"#
    }

    private static func api(_ code: Int, _ status: String, _ message: String, _ reason: String = "") -> String {
        let details =
            reason.isEmpty
            ? "" : #","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"\#(reason)"}]"#
        return #"{"error":{"code":\#(code),"message":"\#(message)","status":"\#(status)"\#(details)}}"#
    }

    private static let foreign = "the answer is not the endpoint's: check the network for a proxy's page, and"
    private static let newKey = "make a new key for the service account and name its file in credentials"
    private static let login =
        "the login has ended: run `gcloud auth application-default login` and name the new file in credentials"
    private static let email = "fcm@demo.iam.gserviceaccount.com"
    private static let longFile = Files.external(
        more: Files.impersonation + #","service_account_impersonation":{"token_lifetime_seconds":7200}"#
    )

    static let assertions: [Row] = [
        Row(
            .assertion,
            400,
            oauth("invalid_grant", "Invalid JWT Signature."),
            .blocked,
            "the token endpoint: HTTP 400: invalid_grant: Invalid JWT Signature.; \(newKey)"
        ),
        Row(
            .assertion,
            400,
            oauth("invalid_grant", "Check your iat and exp values"),
            .worker,
            "the token endpoint: HTTP 400: invalid_grant: Check your iat and exp values; set this machine's clock by NTP"
        ),
        Row(
            .assertion,
            401,
            oauth("invalid_client"),
            .blocked,
            "the token endpoint: HTTP 401: invalid_client: d; \(newKey)"
        ),
        Row(
            .assertion,
            401,
            oauth("unauthorized_client"),
            .blocked,
            "the token endpoint: HTTP 401: unauthorized_client: d; check the service account file and its token_uri"
        ),
        Row(
            .assertion,
            404,
            "<html>",
            .worker,
            "the token endpoint: HTTP 404; \(foreign) token_uri"
        ),
        // A captive portal's own JSON.
        Row(.assertion, 403, #"{"login":"SECRET"}"#, .worker, "the token endpoint: HTTP 403; \(foreign) token_uri"),
        Row(.assertion, 302, "", .worker, "the token endpoint: HTTP 302; \(foreign) token_uri"),
        Row(
            .assertion,
            404,
            #"{"error":{"code":404,"message":"m"}}"#,
            .blocked,
            "the token endpoint: HTTP 404: 404: m; check the service account file and its token_uri"
        ),
        Row(.assertion, 503, "", .retry, "the token endpoint: HTTP 503"),
    ]

    static let refreshes: [Row] = [
        // A revoked login, not a wrong clock.
        Row(
            .refresh,
            400,
            oauth("invalid_grant", "Token has been expired or revoked."),
            .blocked,
            "the refresh endpoint: HTTP 400: invalid_grant: Token has been expired or revoked.; \(login)"
        ),
        Row(
            .refresh,
            400,
            oauth("invalid_grant", "reauth related error (invalid_rapt)"),
            .blocked,
            "the refresh endpoint: HTTP 400: invalid_grant: reauth related error (invalid_rapt); \(login)"
        ),
        Row(
            .refresh,
            401,
            oauth("invalid_client"),
            .blocked,
            "the refresh endpoint: HTTP 401: invalid_client: d; correct client_id and client_secret, or log in again"
        ),
        Row(
            .refresh,
            401,
            oauth("unauthorized_client"),
            .blocked,
            "the refresh endpoint: HTTP 401: unauthorized_client: d; correct client_id and client_secret, or log in again"
        ),
        Row(
            .refresh,
            404,
            "",
            .worker,
            "the refresh endpoint: HTTP 404; \(foreign) token_uri"
        ),
        Row(.refresh, 500, oauth("internal_failure"), .retry, "the refresh endpoint: HTTP 500: internal_failure: d"),
    ]

    static let exchanges: [Row] = [
        Row(
            .sts,
            400,
            oauth("invalid_grant", "ID Token issued at 1 is stale to sign-in."),
            .worker,
            "STS: HTTP 400: invalid_grant: ID Token issued at 1 is stale to sign-in.; check the subject token "
                + "(credential_source): it must be valid now, and be the provider's for this audience"
        ),
        Row(
            .sts,
            400,
            oauth("invalid_target"),
            .blocked,
            "STS: HTTP 400: invalid_target: d; correct audience: its pool or provider does not exist, is disabled or is "
                + "deleted"
        ),
        Row(
            .sts,
            401,
            oauth("unauthorized_client", "The given credential is rejected by the attribute condition."),
            .blocked,
            "STS: HTTP 401: unauthorized_client: The given credential is rejected by the attribute condition.; the "
                + "provider's attribute condition excludes this identity: correct one of them"
        ),
        Row(
            .sts,
            401,
            oauth("invalid_client"),
            .blocked,
            "STS: HTTP 401: invalid_client: d; correct client_id and client_secret"
        ),
        Row(
            .sts,
            400,
            oauth("invalid_request"),
            .blocked,
            "STS: HTTP 400: invalid_request: d; check audience and subject_token_type"
        ),
        Row(
            .sts,
            400,
            oauth("invalid_scope"),
            .blocked,
            "STS: HTTP 400: invalid_scope: d; check audience, subject_token_type and token_url"
        ),
        Row(
            .sts,
            403,
            api(403, "PERMISSION_DENIED", "off", "SERVICE_DISABLED"),
            .blocked,
            "STS: HTTP 403: PERMISSION_DENIED: off; enable the API: gcloud services enable sts.googleapis.com"
        ),
        Row(
            .sts,
            404,
            "<html>",
            .worker,
            "STS: HTTP 404; \(foreign) token_url"
        ),
        Row(.sts, 429, "", .retry, "STS: HTTP 429"), Row(.sts, 200, "<html>", .retry, notJSON("STS")),
        Row(.sts, 200, "{}", .retry, "STS: HTTP 200: the answer has no access_token"),
    ]

    private static func notJSON(_ name: String) -> String {
        "\(name): HTTP 200: the answer is not a complete JSON object"
    }

    private static let denied = api(403, "PERMISSION_DENIED", "denied", "IAM_PERMISSION_DENIED")

    static let impersonations: [Row] = [
        Row(
            .impersonation,
            403,
            denied,
            .blocked,
            "generateAccessToken: HTTP 403: PERMISSION_DENIED: denied; grant the source identity "
                + "roles/iam.workloadIdentityUser on \(email)"
        ),
        Row(
            .impersonation,
            403,
            denied,
            .blocked,
            "generateAccessToken: HTTP 403: PERMISSION_DENIED: denied; grant the source identity "
                + "roles/iam.serviceAccountTokenCreator on \(email)",
            file: Files.impersonated(source: Files.user)
        ),
        Row(
            .impersonation,
            403,
            denied,
            .blocked,
            "generateAccessToken: HTTP 403: PERMISSION_DENIED: denied; grant the source identity "
                + "roles/iam.serviceAccountTokenCreator on \(email), and roles/iam.serviceAccountTokenCreator along "
                + "delegates",
            file: Files.impersonated(source: Files.user, more: #","delegates":["a@b"]"#)
        ),
        Row(
            .impersonation,
            403,
            api(403, "PERMISSION_DENIED", "off", "SERVICE_DISABLED"),
            .blocked,
            "generateAccessToken: HTTP 403: PERMISSION_DENIED: off; enable the API: gcloud services enable "
                + "iamcredentials.googleapis.com"
        ),
        Row(
            .impersonation,
            404,
            api(404, "NOT_FOUND", "no"),
            .blocked,
            "generateAccessToken: HTTP 404: NOT_FOUND: no; no service account \(email): correct "
                + "service_account_impersonation_url"
        ),
        Row(
            .impersonation,
            401,
            api(401, "UNAUTHENTICATED", "no"),
            .blocked,
            "generateAccessToken: HTTP 401: UNAUTHENTICATED: no; the source identity's token was refused: check its "
                + "credential"
        ),
        Row(
            .impersonation,
            400,
            api(400, "INVALID_ARGUMENT", "long"),
            .blocked,
            "generateAccessToken: HTTP 400: INVALID_ARGUMENT: long; above 3600 s the organisation policy "
                + "iam.allowServiceAccountCredentialLifetimeExtension must name \(email): lower token_lifetime_seconds",
            file: longFile
        ),
        Row(
            .impersonation,
            400,
            api(400, "INVALID_ARGUMENT", "bad"),
            .blocked,
            "generateAccessToken: HTTP 400: INVALID_ARGUMENT: bad; check service_account_impersonation_url and delegates"
        ),
        Row(
            .impersonation,
            403,
            "<html>",
            .worker,
            "generateAccessToken: HTTP 403; \(foreign) service_account_impersonation_url"
        ),
        Row(.impersonation, 503, api(503, "UNAVAILABLE", "x"), .retry, "generateAccessToken: HTTP 503: UNAVAILABLE: x"),
        Row(.impersonation, 200, "", .retry, notJSON("generateAccessToken")),
        Row(.impersonation, 200, "{}", .retry, "generateAccessToken: HTTP 200: the answer has no accessToken"),
        Row(
            .impersonation,
            200,
            #"{"accessToken":"a\r\nX: y"}"#,
            .retry,
            "generateAccessToken: HTTP 200: the accessToken holds characters that a header cannot"
        ),
    ]

    private static let url = Files.external(source: #"{"url":"http://localhost/t"}"#)

    static let subjects: [Row] = [
        Row(
            .subjectToken,
            404,
            "SECRET",
            .worker,
            "the subject token: HTTP 404; correct credential_source.url and its headers, or what answers there",
            file: url
        ),
        Row(.subjectToken, 500, "SECRET", .retry, "the subject token: HTTP 500", file: url),
        Row(
            .subjectToken,
            200,
            " \n",
            .worker,
            "the subject token: credential_source.url: holds no token; wait for the token, or correct the path",
            file: url
        ),
        Row(
            .subjectToken,
            200,
            String(repeating: "a", count: 65_537),
            .retry,
            "the subject token: HTTP 200: the answer is cut short, or too large",
            file: url
        ),
        Row(
            .subjectToken,
            200,
            "SECRET",
            .worker,
            "the subject token: credential_source.url: not a JSON object; set credential_source.format.type to text, or "
                + "correct the source",
            file: json
        ),
        Row(
            .subjectToken,
            200,
            #"{"other":"SECRET"}"#,
            .worker,
            "the subject token: credential_source.url: the object has no such text; correct "
                + "credential_source.format.subject_token_field_name",
            file: json
        ),
    ]

    private static let json = Files.external(
        source: #"{"url":"http://localhost/t","format":{"type":"json","subject_token_field_name":"f"}}"#
    )

    @Test(arguments: assertions + refreshes + exchanges + impersonations + subjects)
    func errorHasAClassAndARemedy(row: Row) throws {
        let file =
            switch row.endpoint {
            case .assertion: Files.account
            case .refresh: Files.user
            default: row.file
            }
        let answer = HTTPAnswer(status: row.status, body: Array(row.body.utf8))
        let error = try Files.failure(of: try Files.parse(file), at: row.endpoint, answer)
        #expect(error.kind == row.kind && error.endpoint == row.endpoint)
        #expect(error.sentence == row.text)
        #expect(!error.sentence.contains("SECRET"))
    }

    /// A subject token, a refresh token and an opaque token of 20 characters.
    @Test(arguments: [
        "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJTIn0.c2ln", "1//0gAbcdefghijklmnopqrstuvw", "Secret0Secret0Secret",
    ])
    func repeatedTokenIsMasked(token: String) throws {
        let bodies = [Self.oauth("invalid_target", "Bad \(token)."), Self.api(400, "INVALID", "Bad (\(token))")]
        for body in bodies {
            let answer = HTTPAnswer(status: 400, body: Array(body.utf8))
            let error = try Files.failure(of: try Files.parse(Files.external()), at: .sts, answer)
            #expect(error.detail.hasPrefix("Bad ") && error.detail.contains("…[masked]"), "\(error)")
            #expect(!error.sentence.contains(token.suffix(12)), "\(error)")
        }
    }

    @Test func wordsOfGooglesErrorsStayReadable() throws {
        let text =
            "Permission 'iam.serviceAccounts.getAccessToken' denied on fcm-1@demo-2.iam.gserviceaccount.com, see "
            + "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p1"
        let answer = HTTPAnswer(status: 403, body: Array(Self.api(403, "PERMISSION_DENIED", text).utf8))
        #expect(try Files.failure(of: try Files.parse(Files.external()), at: .sts, answer).detail == text)
    }

    @Test func longExplanationIsCut() throws {
        let answer = HTTPAnswer(status: 400, body: Array(Self.oauth("e", String(repeating: "a ", count: 9_000)).utf8))
        let error = try Files.failure(of: try Files.parse(Files.external()), at: .sts, answer)
        #expect(error.detail.utf8.count <= RawError.maximumBytes)
    }
}
