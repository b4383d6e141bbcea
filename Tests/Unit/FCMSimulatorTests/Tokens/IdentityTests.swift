import FanfareJSON
import Testing

@testable import FCMSimulator

/// Access tokens for identities without a service account's key.
@Suite struct IdentityTests {
    private static let identity = SimulatedIdentity(
        audience: "//iam/demo",
        subjectToken: "subject",
        clientID: "client",
        clientSecret: "secret",
        refreshToken: "refresh"
    )
    private static let email = "sender@demo.example"
    private static let nowMs: Int64 = 1_800_000_000_000

    private var simulator: Simulator = {
        var demo = SimulatedProject(id: "demo", senderID: "12", serverKey: "k", serviceAccountEmail: email)
        demo.identity = identity
        let other = SimulatedProject(
            id: "other",
            senderID: "34",
            serverKey: "l",
            serviceAccountEmail: "o@other.example"
        )
        return Simulator(configuration: SimulatorConfiguration(projects: [demo, other]))
    }()

    private mutating func ask(
        _ path: String,
        _ body: String = "",
        method: String = "POST",
        token: String? = nil,
        flavor: String? = nil,
        newToken: String = "new"
    ) -> SimulatorReply {
        let request = SimulatorRequest(
            method: method,
            path: path,
            authorization: token.map { "Bearer " + $0 },
            metadataFlavor: flavor,
            body: Array(body.utf8)
        )
        let read = ReadRequest(request)
        #expect(read.tokenRequest == nil)
        return simulator.respond(to: read, nowMs: Self.nowMs, newToken: read.needsToken ? newToken : nil)
    }

    private mutating func send(_ token: String, project: String = "demo") -> SimulatorReply {
        ask("/v1/projects/\(project)/messages:send", #"{"message":{"token":"t"}}"#, token: token)
    }

    static let refresh = "grant_type=refresh_token&client_id=client&client_secret=secret&refresh_token=refresh"
    static let exchange =
        "grant_type=urn:ietf:params:oauth:grant-type:token-exchange&audience=//iam/demo&subject_token=subject"
        + "&subject_token_type=urn:ietf:params:oauth:token-type:jwt"
        + "&scope=https://www.googleapis.com/auth/cloud-platform"
    static let impersonate = "/v1/projects/-/serviceAccounts/sender@demo.example:generateAccessToken"
    static let scope = #"{"scope":["https://www.googleapis.com/auth/firebase.messaging"],"lifetime":"600s"}"#

    @Test mutating func refreshTokenBringsATokenOfItsProject() throws {
        let reply = ask("/token", Self.refresh)
        #expect(try reply.status == 200 && reply.json()["access_token"] == "new")
        #expect(send("new").status == 200 && send("new", project: "other").status == 403)
    }

    @Test(arguments: [
        ("client_secret=secret", "client_secret=x", 401, "invalid_client"),
        ("client_id=client", "client_id=x", 401, "invalid_client"),
        ("refresh_token=refresh", "refresh_token=x", 400, "invalid_grant"),
        ("&refresh_token=refresh", "", 400, "invalid_request"), ("client_id=client&", "", 400, "invalid_request"),
        ("grant_type=refresh_token", "grant_type=x", 400, "unsupported_grant_type"),
    ])
    mutating func wrongLoginIsRefused(part: String, other: String, status: Int, error: String) throws {
        let reply = ask("/token", Self.refresh.replacing(part, with: other))
        #expect(try reply.status == status && reply.json()["error"]?.string == error, "\(reply.text)")
    }

    @Test mutating func subjectTokenBringsAFederatedToken() throws {
        let reply = ask("/v1/token", Self.exchange)
        let object = try reply.json()
        #expect(reply.status == 200 && object["token_type"] == "Bearer")
        #expect(object["issued_token_type"] == "urn:ietf:params:oauth:token-type:access_token")
        #expect(send("new").status == 200 && send("new", project: "other").status == 403)
    }

    @Test(arguments: [
        ("token-exchange", "x", "unsupported_grant_type"), ("//iam/demo", "//iam/x", "invalid_target"),
        ("audience=//iam/demo&", "", "invalid_request"), ("subject_token=subject", "subject_token=x", "invalid_grant"),
        ("subject_token=subject&", "", "invalid_request"), ("token-type:jwt", "token-type:x", "invalid_request"),
        ("&scope=https://www.googleapis.com/auth/cloud-platform", "", "invalid_scope"),
        ("grant_type", "requested_token_type=x&grant_type", "invalid_request"),
    ])
    mutating func wrongExchangeIsRefused(part: String, other: String, error: String) throws {
        let reply = ask("/v1/token", Self.exchange.replacing(part, with: other))
        #expect(try reply.status == 400 && reply.json()["error"]?.string == error, "\(reply.text)")
    }

    @Test mutating func serviceAccountActsForItsProjectsIdentities() throws {
        _ = ask("/v1/token", Self.exchange, newToken: "federated")
        let reply = ask(Self.impersonate, Self.scope, token: "federated", newToken: "acting")
        let object = try reply.json()
        #expect(reply.status == 200 && object["accessToken"] == "acting")
        #expect(object["expireTime"] == "2027-01-15T08:10:00Z")
        #expect(send("acting").status == 200)
    }

    @Test mutating func foreignIdentityMayNotAct() throws {
        _ = ask("/v1/token", Self.exchange, newToken: "federated")
        let path = "/v1/projects/-/serviceAccounts/o@other.example:generateAccessToken"
        let denied = ask(path, Self.scope, token: "federated")
        #expect(try denied.status == 403 && denied.error()["status"] == "PERMISSION_DENIED")
        #expect(try denied.detail("ErrorInfo")?["reason"] == "IAM_PERMISSION_DENIED")
        let narrow = Self.exchange.replacing("cloud-platform", with: "firebase.messaging")
        _ = ask("/v1/token", narrow, newToken: "narrow")
        #expect(ask(Self.impersonate, Self.scope, token: "narrow").status == 403)
        #expect(ask(Self.impersonate, Self.scope, token: "unknown").status == 401)
        #expect(ask(Self.impersonate, Self.scope).status == 401)
        let absent = "/v1/projects/-/serviceAccounts/x@demo.example:generateAccessToken"
        #expect(ask(absent, Self.scope, token: "federated").status == 404)
    }

    @Test(arguments: [
        "", "[]", "{}", #"{"scope":[]}"#, #"{"scope":["x"]}"#,
        #"{"scope":["https://www.googleapis.com/auth/iam"],"lifetime":"3601s"}"#,
        #"{"scope":["https://www.googleapis.com/auth/iam"],"lifetime":"0s"}"#,
        #"{"scope":["https://www.googleapis.com/auth/iam"],"lifetime":"600"}"#,
        #"{"scope":["https://www.googleapis.com/auth/iam"],"delegates":["a@b"]}"#,
    ])
    mutating func malformedImpersonationIsAnInvalidArgument(body: String) throws {
        let reply = ask(Self.impersonate, body, token: "t")
        #expect(try reply.status == 400 && reply.error()["status"] == "INVALID_ARGUMENT", "\(reply.text)")
    }

    @Test mutating func metadataServerSpeaksForTheMachine() throws {
        let root = "/computeMetadata/v1/instance/service-accounts/default/"
        let token = ask(root + "token", method: "GET", flavor: "Google", newToken: "machine")
        #expect(try token.status == 200 && token.json()["access_token"] == "machine")
        #expect(token.header("metadata-flavor") == "Google")
        #expect(send("machine").status == 200 && send("machine", project: "other").status == 200)
        #expect(ask(root + "email", method: "GET", flavor: "Google").text.hasSuffix(".gserviceaccount.com"))
        #expect(ask("/computeMetadata/v1/project/project-id", method: "GET", flavor: "Google").text == "demo")
        #expect(ask("/", method: "GET", flavor: "Google").status == 200)
        #expect(ask("/computeMetadata/v1/x", method: "GET", flavor: "Google").status == 404)
    }

    @Test mutating func metadataServerWantsItsHeader() {
        let path = "/computeMetadata/v1/instance/service-accounts/default/token"
        #expect(ask(path, method: "GET").status == 403)
        #expect(ask(path, method: "GET", flavor: "Amazon").status == 403)
        #expect(ask(path, flavor: "Google").status == 405)
    }

    @Test mutating func faultsApplyToEveryIdentity() throws {
        for path in ["/v1/token", "/token", Self.impersonate, "/computeMetadata/"] {
            let fault = #"{"match":{"path":"\#(path)"},"action":{"status":503}}"#
            let request = SimulatorRequest(method: "POST", path: "/faults", body: Array(fault.utf8))
            #expect(simulator.control(request, nowMs: Self.nowMs).status == 200)
        }
        #expect(ask("/v1/token", Self.exchange).status == 503 && ask("/token", Self.refresh).status == 503)
        #expect(ask(Self.impersonate, Self.scope).status == 503)
        #expect(ask("/computeMetadata/v1/project/project-id", method: "GET", flavor: "Google").status == 503)
    }
}
