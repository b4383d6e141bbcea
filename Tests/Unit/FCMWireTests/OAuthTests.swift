import FanfareJSON
import FanfareModel
import Foundation
import Testing

@testable import FCMWire

@Suite struct OAuthTests {
    static let file =
        #"{"type":"service_account","project_id":"demo","private_key_id":"kid-1","#
        + #""private_key":"-----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY-----\n","#
        + #""client_email":"a@b.iam","client_id":"1","token_uri":"https://oauth2.googleapis.com/token"}"#

    @Test func readsAServiceAccount() throws {
        let account = try CredentialFiles.serviceAccount(Self.file)
        #expect(account.projectID == "demo")
        #expect(account.privateKeyID == "kid-1")
        #expect(account.clientEmail == "a@b.iam")
        #expect(account.tokenURI == "https://oauth2.googleapis.com/token")
        #expect(String(decoding: account.privateKey, as: UTF8.self).hasSuffix("\nabc\n-----END PRIVATE KEY-----\n"))
    }

    static let broken: [(String, String, String)] = [
        (#""type":"service_account","#, "", "type: missing"),
        ("service_account", "authorized_user", "client_secret: missing"),
        (#""client_email":"a@b.iam","#, "", "client_email: missing"),
        (#""client_email":"a@b.iam""#, #""client_email":"""#, "client_email: missing"),
        (#""client_email":"a@b.iam""#, #""client_email":7"#, "client_email: must be a string, not a number"),
        (#""token_uri":"https://oauth2.googleapis.com/token""#, #""x":1"#, "token_uri: missing"),
        ("https://oauth2", "ftp://oauth2", "token_uri: must be an absolute URL"),
        ("https://oauth2", #"https://\r\noauth2"#, "token_uri: must be an absolute URL"),
        ("-----BEGIN", "----BEGIN", "private_key: must be a PEM text that starts with -----BEGIN"),
        ("{", "[", "not a credential file: not JSON: byte 7: missing comma or closing bracket in an array"),
    ]

    @Test(arguments: ["demo", "123456789012", "example.com:demo", "a"])
    func knowsProjectsByIdAndNumber(project: String) throws {
        let text = Self.file.replacing(#""demo""#, with: "\"\(project)\"")
        #expect(try CredentialFiles.serviceAccount(text).projectID == project)
    }

    /// It goes into paths: what is no name there must not get so far.
    @Test(arguments: [".", "..", "a/b", "a?b", "a b", "A", #"a\u0000"#, "é", String(repeating: "a", count: 129)])
    func refusesAProjectThatNoPathCanName(project: String) {
        let text = Self.file.replacing(#""demo""#, with: "\"\(project)\"")
        let error = CredentialError(
            reason: "project_id: must be at most 128 of a-z 0-9 - . : and not of dots alone"
        )
        #expect(throws: error) { try CredentialFiles.serviceAccount(text) }
    }

    @Test(arguments: broken)
    func namesTheField(part: String, replacement: String, reason: String) {
        let text = Self.file.replacing(part, with: replacement)
        #expect(throws: CredentialError(reason: reason)) { try CredentialFiles.serviceAccount(text) }
    }

    @Test func keepsSecretsOutOfLogs() throws {
        let account = try CredentialFiles.serviceAccount(Self.file)
        let token = AccessToken(value: "ya29.secret", expiresInSeconds: 10)
        var dumped = ""
        dump(account, to: &dumped)
        dump(token, to: &dumped)
        for text in ["\(account)", "\(token)", dumped, String(reflecting: account), String(reflecting: token)] {
            #expect(!text.contains("PRIVATE KEY"))
            #expect(!text.contains("ya29"))
        }
    }

    @Test func claimsOneHour() throws {
        let account = try CredentialFiles.serviceAccount(Self.file)
        let input = TokenRequest.signingInput(account: account, nowSeconds: 1_700_000_000)
        let parts = try String(decoding: input, as: UTF8.self).split(separator: ".").map { part in
            let text = String(part).replacing("-", with: "+").replacing("_", with: "/")
            let padded = text + String(repeating: "=", count: (4 - text.count % 4) % 4)
            return String(decoding: try #require(Data(base64Encoded: padded)), as: UTF8.self)
        }
        #expect(
            parts == [
                #"{"alg":"RS256","typ":"JWT","kid":"kid-1"}"#,
                #"{"iss":"a@b.iam","scope":"https://www.googleapis.com/auth/firebase.messaging","#
                    + #""aud":"https://oauth2.googleapis.com/token","iat":1700000000,"exp":1700003600}"#,
            ]
        )
        let body = TokenRequest.body(signingInput: input, signature: [0xFB, 0xEF, 0xFF])
        let start = "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion="
        #expect(String(decoding: body, as: UTF8.self) == start + String(decoding: input, as: UTF8.self) + ".--__")
    }

    @Test func leavesOutAKeyIDThatTheFileDoesNotHave() throws {
        let text = Self.file.replacing(#""private_key_id":"kid-1","#, with: "")
        let input = TokenRequest.signingInput(account: try CredentialFiles.serviceAccount(text), nowSeconds: 0)
        let header = Base64.encodeURL(Array(#"{"alg":"RS256","typ":"JWT"}"#.utf8))
        #expect(input.starts(with: header + [UInt8(ascii: ".")]))
    }

    static let granted: [(String, Int64)] = [
        (#""expires_in":3599"#, 3_599), (#""expires_in":"3599""#, 3_599), (#""expires_in":3599.9"#, 3_599),
        (#""expires_in":1e30"#, 86_400), (#""expires_in":9223372036854775808"#, 86_400),
        (#""expires_in":"99999999999999999999""#, 86_400), (#""expires_in":"20.5","token_type":"bearer""#, 20),
        (#""expires_in":20,"token_type":"Bearer""#, 20),
    ]

    @Test(arguments: granted)
    func readsAToken(field: String, seconds: Int64) {
        let answer = HTTPAnswer(status: 200, body: Array(#"{"access_token":"ya29.a-b_c~d+e/f=",\#(field)}"#.utf8))
        let token = AccessToken(value: "ya29.a-b_c~d+e/f=", expiresInSeconds: seconds)
        #expect(TokenRequest.parse(answer) == .success(token))
    }

    /// A lifetime that no worker can send by is named as the endpoint said it.
    @Test(
        arguments: [
            (#""expires_in":0"#, 0, "0"), (#""expires_in":-5"#, 0, "-5"), (#""expires_in":-1e40"#, 0, "-1e40"),
            (#""expires_in":"3""#, 3, "3"), (#""expires_in":19.9"#, 19, "19.9"), (#""x":1"#, 3_600, "missing"),
            (#""expires_in":null"#, 3_600, "no number"), (#""expires_in":[1]"#, 3_600, "no number"),
            (#""expires_in":"soon\n""#, 3_600, "soon"), (#""expires_in":"nan""#, 3_600, "nan"),
            (#""expires_in":1e999"#, 3_600, "1e999"),
        ] as [(String, Int64, String)]
    )
    func namesALifetimeOfNoUse(field: String, seconds: Int64, said: String) {
        let answer = HTTPAnswer(status: 200, body: Array(#"{"access_token":"a",\#(field)}"#.utf8))
        let token = AccessToken(value: "a", expiresInSeconds: seconds, lifetimeFault: said)
        #expect(TokenRequest.parse(answer) == .success(token))
    }

    static let refusals: [(Int, String, Bool, String)] = [
        (
            400, #"{"error":"invalid_grant","error_description":"Invalid JWT Signature."}"#, false,
            "HTTP 400: invalid_grant: Invalid JWT Signature."
        ),
        (401, #"{"error":"invalid_client"}"#, false, "HTTP 401: invalid_client"),
        (403, "no", false, "HTTP 403"), (404, "<html>", false, "HTTP 404"), (302, "", false, "HTTP 302"),
        (400, #"{"error":"server_error"}"#, true, "HTTP 400: server_error"),
        (400, #"{"error":"temporarily_unavailable"}"#, true, "HTTP 400: temporarily_unavailable"),
        (400, #"{"error":"internal_failure"}"#, true, "HTTP 400: internal_failure"),
        (408, "", true, "HTTP 408"), (429, "", true, "HTTP 429"), (500, "", true, "HTTP 500"),
        (502, "<html>", true, "HTTP 502"), (503, "", true, "HTTP 503"), (504, "", true, "HTTP 504"),
        (400, #"{"error":{"code":400}}"#, false, "HTTP 400: 400"),
        (400, #"{"error":"a\r\nb"}"#, false, "HTTP 400: a??b"),
        (200, "<html>", true, "HTTP 200: the answer is not a complete JSON object"),
        (200, #"{"access_token":""}"#, true, "HTTP 200: the answer has no access_token"),
        (200, #"{"access_token":7}"#, true, "HTTP 200: the answer has no access_token"),
        (
            200, #"{"access_token":"a\r\nX: y"}"#, true,
            "HTTP 200: the access_token holds characters that a header cannot"
        ),
        (200, #"{"access_token":"a","token_type":"mac"}"#, true, "HTTP 200: the token_type is not Bearer"),
    ]

    @Test(arguments: refusals)
    func permanentRefusalDiffersFromATransientOne(status: Int, body: String, isRetryable: Bool, description: String) {
        guard case .failure(let error) = TokenRequest.parse(HTTPAnswer(status: status, body: Array(body.utf8))) else {
            Issue.record("a token out of \(body)")
            return
        }
        #expect((error.kind == .retry) == isRetryable)
        #expect("\(error)" == description)
    }

    @Test(arguments: [
        (
            "Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe. "
                + "Check your iat and exp values in the JWT claim.",
            true
        ),
        ("Invalid JWT Signature.", false), ("Invalid grant: account not found", false), ("", false),
        ("Invalid JWT: Failed audience check.", false),
    ])
    func wrongClockDiffersFromAWrongCredential(detail: String, isAboutTime: Bool) {
        let body = Array(#"{"error":"invalid_grant","error_description":"\#(detail)"}"#.utf8)
        guard case .failure(let error) = TokenRequest.parse(HTTPAnswer(status: 400, body: body)) else {
            Issue.record("a token out of a refusal")
            return
        }
        #expect(error.isAboutTime == isAboutTime && error.kind != .retry)
    }

    @Test func distrustsABodyCutShort() {
        let answer = HTTPAnswer(status: 200, body: Array(#"{"access_token":"a"}"#.utf8), isComplete: false)
        guard case .failure(let error) = TokenRequest.parse(answer) else {
            Issue.record("a token out of half an answer")
            return
        }
        #expect(error.kind == .retry)
    }
}
