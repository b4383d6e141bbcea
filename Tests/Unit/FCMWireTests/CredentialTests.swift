import FanfareJSON
import FanfareModel
import Testing

@testable import FCMWire

/// Credential files in the form in which Google's tools write them. Every secret holds the word SECRET.
enum CredentialFiles {
    static let impersonationURL =
        "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/"
        + "fcm@demo.iam.gserviceaccount.com:generateAccessToken"

    static let user = """
        {"type":"authorized_user","client_id":"client","client_secret":"SECRET-client","refresh_token":"SECRET-refresh",
        "quota_project_id":"billed","account":"","universe_domain":"googleapis.com"}
        """

    static let account = """
        {"type":"service_account","project_id":"other","private_key":"-----BEGIN SECRET-----",
        "client_email":"source@other.iam","token_uri":"https://oauth2.googleapis.com/token"}
        """

    static func external(
        source: String = #"{"file":"/var/run/token"}"#,
        more: String = "",
        audience: String = "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/q"
    ) -> String {
        """
        {"type":"external_account","audience":"\(audience)","token_url":"https://sts.googleapis.com/v1/token",
        "subject_token_type":"urn:ietf:params:oauth:token-type:jwt","credential_source":\(source)\(more)}
        """
    }

    static let impersonation = #","service_account_impersonation_url":"\#(impersonationURL)""#

    static func impersonated(source: String, more: String = "") -> String {
        """
        {"type":"impersonated_service_account","source_credentials":\(source)\(impersonation)\(more)}
        """
    }

    static func parse(_ text: String) throws -> Credential { try Credential.parse(Array(text.utf8)) }

    static func serviceAccount(_ text: String) throws -> ServiceAccount {
        let credential = try parse(text)
        guard case .serviceAccount(let account) = credential else { throw OtherKind(kind: credential.kind) }
        return account
    }

    struct OtherKind: Error { let kind: CredentialKind }

    struct Unexpected: Error { let action: TokenExchange.Action }

    /// The error of an exchange in which one endpoint answers with `answer` and every step before it succeeds.
    static func failure(
        of credential: Credential,
        at endpoint: TokenEndpoint,
        _ answer: HTTPAnswer
    ) throws -> TokenError {
        let granted = HTTPAnswer(status: 200, body: Array(#"{"access_token":"SECRET","expires_in":3599}"#.utf8))
        var exchange = TokenExchange(credential, nowSeconds: 0)
        var action = exchange.start()
        while true {
            switch action {
            case .readFile: action = exchange.fileRead(Array("SECRET".utf8))
            case .sign: action = exchange.signed([1])
            case .send(let call):
                action = exchange.answered(call.endpoint == endpoint ? answer : granted, unixMs: 0)
            case .failed(let error): return error
            case .granted: throw Unexpected(action: action)
            }
        }
    }
}

@Suite struct CredentialTests {
    typealias Files = CredentialFiles

    @Test(
        arguments: [
            (Files.account, CredentialKind.serviceAccount, "other", nil, "source@other.iam", ["token_uri"]),
            (Files.user, .authorizedUser, nil, "billed", "the user", ["token_uri"]),
            (
                Files.external(), .externalAccount, nil, nil, "the external identity (principal://…)", ["token_url"]
            ),
            (
                Files.external(source: #"{"url":"http://169.254.169.254/t?a=b"}"#, more: Files.impersonation),
                .externalAccount, nil, nil, "fcm@demo.iam.gserviceaccount.com",
                ["token_url", "credential_source.url", "service_account_impersonation_url"]
            ),
            (
                Files.impersonated(source: Files.user, more: #","quota_project_id":"billed""#), .impersonated, nil,
                "billed",
                "fcm@demo.iam.gserviceaccount.com",
                ["source_credentials.token_uri", "service_account_impersonation_url"]
            ),
        ] as [(String, CredentialKind, String?, String?, String, [String])]
    )
    func everyKindIsRead(
        text: String,
        kind: CredentialKind,
        project: String?,
        quotaProject: String?,
        identity: String,
        fields: [String]
    ) throws {
        let credential = try Files.parse(text)
        #expect(credential.kind == kind && credential.projectID == project)
        #expect(credential.quotaProjectID == quotaProject && credential.identity == identity)
        #expect(credential.urls.map(\.field) == fields)
        let again = try Files.parse(text)
        #expect(credential == again)
    }

    @Test func missingURLsAreGoogles() throws {
        #expect(try Files.parse(Files.user).urls.map(\.url) == ["https://oauth2.googleapis.com/token"])
        let text = Files.external().replacing(#""token_url":"https://sts.googleapis.com/v1/token","#, with: "")
        #expect(try Files.parse(text).urls.map(\.url) == ["https://sts.googleapis.com/v1/token"])
        let other = text.replacing("{\"type\"", with: #"{"universe_domain":"u.example","type""#)
        #expect(try Files.parse(other).urls.map(\.url) == ["https://sts.u.example/v1/token"])
    }

    @Test func onlyAKeyThatSignsIsAPrivateKey() throws {
        #expect(try Files.parse(Files.account).privateKey == Array("-----BEGIN SECRET-----".utf8))
        #expect(try Files.parse(Files.impersonated(source: Files.account)).privateKey != nil)
        for text in [Files.user, Files.external(), Files.impersonated(source: Files.user)] {
            #expect(try Files.parse(text).privateKey == nil)
        }
    }

    @Test(arguments: [
        Files.account, Files.user, Files.impersonated(source: Files.user), Files.impersonated(source: Files.account),
        Files.external(
            source: #"{"url":"https://h","headers":{"A":"SECRET"}}"#,
            more: #","client_id":"c","client_secret":"SECRET""#
        ),
    ])
    func noDescriptionShowsASecret(text: String) throws {
        let credential = try Files.parse(text)
        var dumped = "\(credential) \(String(reflecting: credential))"
        dump(credential, to: &dumped)
        #expect(!dumped.contains("SECRET"), "\(dumped)")
    }

    @Test(arguments: [
        Files.account, Files.user,
        Files.external(source: #"{"url":"https://h","headers":{"A":"SECRET"}}"#, more: Files.impersonation),
    ])
    func noDescriptionOfAnExchangeShowsASecret(text: String) throws {
        var exchange = TokenExchange(try Files.parse(text), nowSeconds: 0)
        _ = exchange.start()
        // The subject token's step has ended: the exchange holds the token.
        _ = exchange.answered(HTTPAnswer(status: 200, body: Array("SECRET".utf8)), unixMs: 0)
        var dumped = "\(exchange) \(String(reflecting: exchange)) \(Mirror(reflecting: exchange).children.map(\.value))"
        dump(exchange, to: &dumped)
        #expect(!dumped.contains("SECRET"), "\(dumped)")
        #expect("\(exchange)".hasPrefix("token exchange, step "))
    }

    @Test(arguments: [("t/token", "/etc/f/", "/etc/f/t/token"), ("/run/t", "/etc/f/", "/run/t"), ("t", "", "t")])
    func relativeSubjectTokenFileStartsInTheCredentialFilesFolder(given: String, folder: String, path: String) throws {
        let external = Files.external(source: #"{"file":"\#(given)"}"#)
        for text in [external, Files.impersonated(source: external)] {
            let credential = try Credential.parse(Array(text.utf8), folder: folder)
            var exchange = TokenExchange(credential, nowSeconds: 0)
            #expect(exchange.start() == .readFile(path))
        }
    }

    static let refused: [(String, String)] = [
        (#"{"type":"gdch_service_account"}"#, "type: gdch_service_account has no access to FCM"),
        (#"{"type":"external_account_authorized_user"}"#, "type: external_account_authorized_user is a user's login"),
        (#"{"type":"SECRET"}"#, "type: must be service_account, external_account, impersonated"),
        (#"{"type":"metadata"}"#, "type: must not be metadata; set credentials: metadata instead"),
        (#"{"project_info":{},"client":[]}"#, "the app's google-services.json; make a service account's key (Firebase"),
        (#"{"installed":{}}"#, "type: missing"), ("[]", "not a credential file: must be an object"),
        (
            Files.external(source: #"{"executable":{"command":"SECRET"}}"#),
            "credential_source.executable: Fanfare runs no"
        ),
        (
            Files.external(source: #"{"environment_id":"aws1","url":"https://h"}"#),
            "credential_source.environment_id: Fanfare signs no AWS request; use an OIDC token"
        ),
        (
            Files.external(source: #"{"url":"https://h"}"#).replacing(
                "oauth:token-type:jwt",
                with: "aws:token-type:aws4"
            ),
            "credential_source.environment_id: Fanfare signs no AWS"
        ),
        (Files.external(source: #"{"certificate":{}}"#), "credential_source.certificate: Fanfare presents no X.509"),
        (Files.external(source: "{}"), "credential_source.file: missing; name a file or a url"),
        (Files.external(source: #"{"file":"/a","url":"https://h"}"#), "credential_source.file: stands beside url"),
        (Files.external(source: #"{"url":"SECRET"}"#), "credential_source.url: must be an absolute URL"),
        (Files.external(source: "7"), "credential_source: must be an object, not a number"),
        (Files.external(source: "null"), "credential_source: missing"),
        (
            Files.external(source: #"{"file":"/a","format":{"type":"xml"}}"#),
            "credential_source.format.type: must be text or json"
        ),
        (
            Files.external(source: #"{"file":"/a","format":{"type":"json"}}"#),
            "credential_source.format.subject_token_field_name: missing"
        ),
        (
            Files.external(source: #"{"url":"https://h","headers":{"A":"SECRET\r\nB: c"}}"#),
            "credential_source.headers: must be names and values of visible ASCII"
        ),
        (
            Files.external(more: #","workforce_pool_user_project":"p1""#),
            "workforce_pool_user_project: needs the audience of a workforce pool"
        ),
        (
            Files.external(
                more: #","service_account_impersonation_url":"https://iamcredentials.googleapis.com/SECRET""#
            ),
            "service_account_impersonation_url: must end with /serviceAccounts/EMAIL:generateAccessToken"
        ),
        (
            Files.external(
                more: Files.impersonation + #","service_account_impersonation":{"token_lifetime_seconds":43201}"#
            ),
            "service_account_impersonation.token_lifetime_seconds: must be a whole number from 600 to 43200"
        ),
        (Files.external(more: #","quota_project_id":"SECRET\r\n""#), "quota_project_id: must be at most 128"),
        (
            Files.impersonated(source: Files.impersonated(source: Files.user)),
            "source_credentials.type: must be service_account, external_account or authorized_user"
        ),
        (Files.impersonated(source: #"{"type":"x"}"#), "source_credentials.type: must be"),
        (Files.impersonated(source: "null"), "source_credentials: missing"),
        (Files.impersonated(source: Files.user, more: #","delegates":[7]"#), "delegates: must be at most 16"),
        (#"{"type":"impersonated_service_account"}"#, "service_account_impersonation_url: missing"),
        (Files.user.replacing("SECRET-refresh", with: ""), "refresh_token: missing"),
        (
            Files.impersonated(source: Files.user.replacing("SECRET-client", with: "")),
            "source_credentials.client_secret: m"
        ),
        (String(repeating: #"{"a":"#, count: 20), "not a credential file: not JSON"),
        (#"{"a":""# + String(repeating: "a", count: 65_536) + "\"}", "not a credential file: not JSON"),
    ]

    @Test(arguments: refused)
    func errorNamesTheFieldAndTheRemedy(text: String, reason: String) throws {
        let error = try #require(throws: CredentialError.self) { try Files.parse(text) }
        #expect(error.reason.hasPrefix(reason), "\(error)")
        #expect(!error.reason.contains("SECRET"))
    }

    @Test func metadataServerIsAskedForFCMsScopeOverPlainHTTP() {
        let credential = Credential.metadata(MetadataServer(host: "127.0.0.1:8480"))
        #expect(credential.urls.map(\.servesSubjectTokens) == [true])
        #expect(
            credential.urls.map(\.url) == [
                "http://127.0.0.1:8480/computeMetadata/v1/instance/service-accounts/default/token"
                    + "?scopes=https%3A%2F%2Fwww.googleapis.com%2Fauth%2Ffirebase.messaging"
            ]
        )
        #expect(MetadataServer().host == "metadata.google.internal" && credential.projectID == nil)
    }
}
