import Testing

@testable import FCMSimulator

/// The credentials alone: what a header allows.
@Suite struct CredentialsTests {
    private static let project = SimulatedProject(
        id: "demo",
        senderID: "12",
        serverKey: "key",
        serviceAccountEmail: "sender@demo.example",
        appKeys: ["app"]
    )
    private static let other = SimulatedProject(id: "other", senderID: "34", serverKey: "key2")
    private static let nowMs: Int64 = 1_800_000_000_000

    private static func credentials(scope: String = "firebase.messaging") throws -> Credentials {
        var configuration = SimulatorConfiguration(projects: [project, other])
        configuration.tokenAudiences = ["https://localhost:1/token"]
        var credentials = Credentials(configuration)
        let body = TokenText.body(
            nowMs: nowMs,
            issuer: project.serviceAccountEmail,
            scope: "https://www.googleapis.com/auth/" + scope
        )
        let request = try TokenRequest.read(TokenForm(Array(body.utf8)))
        #expect(try credentials.exchange(request, newToken: "token", nowMs: nowMs).status == 200)
        return credentials
    }

    private static func request(
        _ authorization: String?,
        accessTokenAuth: Bool = false,
        sender: String? = nil
    ) -> SimulatorRequest {
        SimulatorRequest(
            method: "POST",
            path: "/",
            authorization: authorization,
            accessTokenAuth: accessTokenAuth,
            projectIDHeader: sender
        )
    }

    @Test(arguments: [
        (String?.none, Int64(0), APIError?.some(.missingCredential)),
        ("Bearer stranger", 0, .badCredential(reason: "ACCESS_TOKEN_TYPE_UNSUPPORTED")),
        ("key=key", 0, .badCredential(reason: "ACCESS_TOKEN_TYPE_UNSUPPORTED")),
        ("Bearer token", 3_600_000, .badCredential(reason: "ACCESS_TOKEN_EXPIRED")), ("Bearer token", 3_599_999, nil),
    ])
    func `HTTP v1 accepts a bearer token until it expires`(
        authorization: String?,
        ageMs: Int64,
        error: APIError?
    ) throws {
        let credentials = try Self.credentials()
        let request = Self.request(authorization)
        #expect(credentials.error(of: request, project: Self.project, nowMs: Self.nowMs + ageMs) == error)
    }

    @Test func `a token allows its own project and its own scope`() throws {
        let request = Self.request("Bearer token")
        let error = try Self.credentials().error(of: request, project: Self.other, nowMs: Self.nowMs)
        #expect(error == .permissionDenied(project: "other"))
        let narrow = try Self.credentials(scope: "devstorage.read_only")
        #expect(narrow.error(of: request, project: Self.project, nowMs: Self.nowMs) == .insufficientScope)
        #expect(throws: TopicError.forbidden) {
            try narrow.topicProject(
                of: Self.request("Bearer token", accessTokenAuth: true),
                nowMs: Self.nowMs
            )
        }
    }

    @Test(arguments: [
        (request("key=key"), String?("demo")), (request("key=key2"), "other"), (request("key=app"), nil),
        (request("key=stranger"), nil), (request(nil), nil), (request("Bearer token"), nil),
        (request("Bearer token", accessTokenAuth: true), "demo"), (request("key=key", sender: "12"), "demo"),
        (request("key=key", sender: "34"), nil),
    ])
    func `a legacy request belongs to its credential's project`(request: SimulatorRequest, id: String?) throws {
        #expect(try Self.credentials().legacyProject(of: request, nowMs: Self.nowMs)?.id == id)
    }

    @Test func `the Instance ID API accepts a key, and a bearer token with its header`() throws {
        let credentials = try Self.credentials()
        #expect(try credentials.topicProject(of: Self.request("key=key2"), nowMs: Self.nowMs).id == "other")
        let bearer = Self.request("Bearer token", accessTokenAuth: true)
        #expect(try credentials.topicProject(of: bearer, nowMs: Self.nowMs).id == "demo")
        for request in [Self.request("Bearer token"), Self.request("key=app"), Self.request(nil)] {
            #expect(throws: TopicError.unauthenticated) {
                try credentials.topicProject(of: request, nowMs: Self.nowMs)
            }
        }
    }

    @Test func `an assertion needs an account that exists and a valid signature`() throws {
        var credentials = try Self.credentials()
        let stranger = TokenText.body(nowMs: Self.nowMs, issuer: "x@y.example")
        let unknown = try TokenRequest.read(TokenForm(Array(stranger.utf8)))
        #expect(throws: OAuthError("invalid_grant", "Invalid grant: account not found")) {
            try credentials.exchange(unknown, newToken: "n", nowMs: Self.nowMs)
        }
        let known = try TokenRequest.read(
            TokenForm(Array(TokenText.body(nowMs: Self.nowMs, issuer: Self.project.serviceAccountEmail).utf8))
        )
        #expect(throws: OAuthError("invalid_grant", "Invalid JWT Signature.")) {
            try credentials.exchange(known, newToken: nil, nowMs: Self.nowMs)
        }
        #expect(try credentials.exchange(known, newToken: "n", nowMs: Self.nowMs).status == 200)
    }
}
