import FanfareModel
import Testing

@testable import FCMWire
@testable import FanfareCore
@testable import FanfareWorker

/// The headers of requests, and the credentials that are not fetched.
@Suite struct CredentialSourceTests {
    @Test func managementNamesTheKindOfTokenAndTheSender() {
        let headers = RequestHeaders(authorization: "Bearer t", isOAuth: true, senderID: "7", quotaProject: "q")
        let common = ["Authorization: Bearer t", "x-goog-user-project: q"]
        let json = common + ["Content-Type: application/json; charset=utf-8"]
        #expect(headers.lines(.json) == json)
        #expect(headers.lines(.form) == common + ["Content-Type: application/x-www-form-urlencoded;charset=UTF-8"])
        #expect(headers.lines(.management) == json + ["access_token_auth: true", "project_id: 7"])
        let plain = RequestHeaders(authorization: "key=k", isOAuth: false, senderID: "")
        #expect(plain.lines(.management) == plain.lines(.json))
    }

    @Test func serverKeyIsReadyUntilFCMRefusesIt() {
        let credential = ServerKeyCredential(.legacy("p", key: "secret"))
        #expect(credential.headers.json.first == "Authorization: key=secret")
        #expect(credential.readiness() == .ready && !credential.isStuck && !credential.isFresh)
        let failure = Failure(error: .unspecified, action: .fixCredentials, rawError: "no", httpStatus: 401)
        credential.failure = failure
        #expect(credential.readiness() == .failed(failure))
        credential.retryFailed()
        #expect(credential.readiness() == .ready, "the project's probe tries it")
    }

    @Test func fingerprintTellsServerKeysApart() {
        let prints = ["a", "b", "a"].map { ServerKeyCredential(.legacy("p", key: $0)).fingerprint }
        #expect(prints[0] == prints[2] && prints[0] != prints[1] && prints[0] != 0)
    }

    @Test func deletedCredentialStaysRefused() {
        let credential = LostCredential("credentials: the file was deleted")
        for _ in 0..<2 {
            guard case .failed(let failure) = credential.readiness() else {
                Issue.record("it is ready")
                return
            }
            #expect(failure.error == .thirdPartyAuthError && failure.action == .fixCredentials)
            #expect(failure.rawError == "credentials: the file was deleted")
            credential.retryFailed()
        }
        #expect(credential.fingerprint == 0)
    }
}
