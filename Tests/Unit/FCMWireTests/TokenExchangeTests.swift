import FanfareJSON
import FanfareModel
import Testing

@testable import FCMWire

/// The chains of steps from a credential to an access token.
@Suite struct TokenExchangeTests {
    typealias Files = CredentialFiles
    typealias Action = TokenExchange.Action

    private static let nowMs: Int64 = 1_700_000_000_000

    private static func answer(_ body: String, status: Int = 200, flavor: String? = nil) -> HTTPAnswer {
        HTTPAnswer(status: status, body: Array(body.utf8), metadataFlavor: flavor)
    }

    private static func exchange(_ file: String) throws -> TokenExchange {
        TokenExchange(try Files.parse(file), nowSeconds: nowMs / 1_000)
    }

    private static func call(_ action: Action) throws -> TokenCall {
        guard case .send(let call) = action else { throw Files.Unexpected(action: action) }
        return call
    }

    private static func text(_ call: TokenCall) -> String { String(decoding: call.body, as: UTF8.self) }

    private static let granted = #"{"access_token":"ya29.a","expires_in":3599,"token_type":"Bearer"}"#

    @Test func fileSourcedAccountExchangesItsTokenForFCMsScope() throws {
        var exchange = try Self.exchange(Files.external())
        #expect(exchange.start() == .readFile("/var/run/token"))
        let call = try Self.call(exchange.fileRead(Array(" subject&token\n".utf8)))
        #expect(call.endpoint == .sts && call.url == "https://sts.googleapis.com/v1/token" && exchange.isLast)
        #expect(call.headers == ["Content-Type: application/x-www-form-urlencoded"] && !call.allowsPlainHTTP)
        #expect(
            Self.text(call)
                == "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Atoken-exchange"
                + "&audience=%2F%2Fiam.googleapis.com%2Fprojects%2F1%2Flocations%2Fglobal%2FworkloadIdentityPools%2Fp"
                + "%2Fproviders%2Fq&scope=https%3A%2F%2Fwww.googleapis.com%2Fauth%2Ffirebase.messaging"
                + "&requested_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Aaccess_token"
                + "&subject_token=subject%26token&subject_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Ajwt"
        )
        #expect(
            exchange.answered(Self.answer(Self.granted), unixMs: Self.nowMs)
                == .granted(AccessToken(value: "ya29.a", expiresInSeconds: 3_599))
        )
    }

    @Test func impersonationTakesABroadTokenAndAsksForFCMsScope() throws {
        var exchange = try Self.exchange(
            Files.external(
                source: #"{"url":"http://169.254.169.254/t?v=1","headers":{"Metadata":"True"},"#
                    + #""format":{"type":"json","subject_token_field_name":"access_token"}}"#,
                more: Files.impersonation + #","service_account_impersonation":{"token_lifetime_seconds":2800}"#
            )
        )
        let source = try Self.call(exchange.start())
        #expect(source.url == "http://169.254.169.254/t?v=1" && source.headers == ["Metadata: True"])
        #expect(source.method == .get && source.allowsPlainHTTP && !exchange.isLast)
        let sts = try Self.call(exchange.answered(Self.answer(#"{"access_token":"s"}"#), unixMs: Self.nowMs))
        #expect(Self.text(sts).contains("&scope=https%3A%2F%2Fwww.googleapis.com%2Fauth%2Fcloud-platform&"))
        #expect(Self.text(sts).contains("&subject_token=s&") && !exchange.isLast)
        let last = try Self.call(exchange.answered(Self.answer(Self.granted), unixMs: Self.nowMs))
        #expect(last.url == Files.impersonationURL && exchange.isLast)
        #expect(last.headers == ["Authorization: Bearer ya29.a", "Content-Type: application/json"])
        #expect(
            Self.text(last)
                == #"{"scope":["https://www.googleapis.com/auth/firebase.messaging"],"lifetime":"2800s"}"#
        )
        // 1,700,000,000 is 22:13:20 that day.
        let body = #"{"accessToken":"ya29.b","expireTime":"2023-11-14T22:33:20Z"}"#
        #expect(
            exchange.answered(Self.answer(body), unixMs: Self.nowMs)
                == .granted(AccessToken(value: "ya29.b", expiresInSeconds: 1_200))
        )
    }

    @Test func clientAndUserProjectGoAsGooglesLibrariesSendThem() throws {
        let audience = "//iam.googleapis.com/locations/global/workforcePools/p/providers/q"
        let more = #","workforce_pool_user_project":"77""#
        var exchange = try Self.exchange(Files.external(more: more, audience: audience))
        _ = exchange.start()
        let call = try Self.call(exchange.fileRead(Array("t".utf8)))
        // Escaped twice, as in google-auth.
        #expect(Self.text(call).hasSuffix("&options=%257B%2522userProject%2522%253A%252277%2522%257D"))
        var client = try Self.exchange(
            Files.external(more: more + #","client_id":"c","client_secret":"d""#, audience: audience)
        )
        _ = client.start()
        let second = try Self.call(client.fileRead(Array("t".utf8)))
        #expect(second.headers.contains("Authorization: Basic Yzpk") && !Self.text(second).contains("options"))
    }

    @Test func impersonatedAccountStartsWithItsSource() throws {
        let delegates = #","delegates":["a@b.iam","projects/-/serviceAccounts/c@d.iam"]"#
        var user = try Self.exchange(Files.impersonated(source: Files.user, more: delegates))
        let refresh = try Self.call(user.start())
        #expect(refresh.endpoint == .refresh && refresh.url == "https://oauth2.googleapis.com/token")
        #expect(
            Self.text(refresh)
                == "grant_type=refresh_token&client_id=client&client_secret=SECRET-client&refresh_token=SECRET-refresh"
        )
        let last = try Self.call(user.answered(Self.answer(Self.granted), unixMs: Self.nowMs))
        #expect(
            Self.text(last).hasSuffix(
                #""lifetime":"3600s","delegates":["projects/-/serviceAccounts/a@b.iam","projects/-/serviceAccounts/c@d.iam"]}"#
            )
        )
        var account = try Self.exchange(Files.impersonated(source: Files.account))
        guard case .sign(let input) = account.start() else { throw Files.Unexpected(action: account.start()) }
        #expect(!input.isEmpty)
        let signed = try Self.call(account.signed([1]))
        #expect(signed.endpoint == .assertion && signed.body.starts(with: "grant_type=urn".utf8))
    }

    @Test func assertionForAnotherStepAsksForTheBroadScope() throws {
        let account = try CredentialFiles.serviceAccount(Files.account)
        let narrow = TokenRequest.signingInput(account: account, nowSeconds: Self.nowMs / 1_000)
        let broad = TokenRequest.signingInput(
            account: account,
            nowSeconds: Self.nowMs / 1_000,
            scope: "https://www.googleapis.com/auth/cloud-platform"
        )
        var direct = try Self.exchange(Files.account)
        var through = try Self.exchange(Files.impersonated(source: Files.account))
        guard case .sign(let first) = direct.start(), case .sign(let second) = through.start() else {
            Issue.record("nothing is signed")
            return
        }
        #expect(first == narrow && second == broad && narrow != broad)
    }

    @Test func metadataServerGrantsInOneStep() throws {
        var exchange = TokenExchange(.metadata(MetadataServer()), nowSeconds: 0)
        let call = try Self.call(exchange.start())
        #expect(call.headers == ["Metadata-Flavor: Google"] && call.method == .get && call.allowsPlainHTTP)
        #expect(exchange.isLast)
        #expect(
            exchange.answered(Self.answer(Self.granted, flavor: "Google"), unixMs: 0)
                == .granted(AccessToken(value: "ya29.a", expiresInSeconds: 3_599))
        )
    }

    @Test(
        arguments: [
            ("2023-11-14T22:33:20Z", nil, 1_200, nil), ("2023-11-14T22:33:20.123456789Z", nil, 1_200, nil),
            ("2023-11-14T23:33:20+01:00", nil, 1_200, nil), ("2030-01-01T00:00:00Z", nil, 3_600, nil),
            // The answer's date is worth more than this machine's clock.
            ("2023-11-14T22:33:20Z", "Tue, 14 Nov 2023 22:23:20 GMT", 600, nil),
            ("2023-11-14T22:13:30Z", nil, 10, "2023-11-14T22:13:30Z"),
            ("2020-01-01T00:00:00Z", nil, 0, "2020-01-01T00:00:00Z"), ("soon", nil, 3_600, "soon"),
            ("", nil, 3_600, ""),
        ] as [(String, String?, Int64, String?)]
    )
    func expireTimeBecomesALifetime(text: String, date: String?, seconds: Int64, fault: String?) throws {
        var exchange = try Self.exchange(Files.impersonated(source: Files.user))
        _ = exchange.start()
        _ = exchange.answered(Self.answer(Self.granted), unixMs: Self.nowMs)
        var answer = Self.answer(#"{"accessToken":"a","expireTime":"\#(text)"}"#)
        answer.date = date
        #expect(
            exchange.answered(answer, unixMs: Self.nowMs)
                == .granted(AccessToken(value: "a", expiresInSeconds: seconds, lifetimeFault: fault))
        )
    }

    @Test func eventOutOfOrderFailsWithoutATrap() throws {
        var exchange = try Self.exchange(Files.external())
        _ = exchange.start()
        for action in [exchange.signed([1]), exchange.answered(Self.answer(""), unixMs: 0)] {
            guard case .failed(let error) = action else { throw Files.Unexpected(action: action) }
            #expect(error.kind == .retry)
        }
    }
}
