internal import FCMWire
internal import FanfareCore
internal import FanfareModel

/// The credential of a project's sends.
protocol CredentialSource: AnyObject {
    /// The id that the credential itself names; the v1 path is built from it.
    var projectID: String? { get }
    /// Counts the secrets; a refusal of an older one than that of ``headers`` is ignored.
    var generation: Int { get }
    /// Whether the secret has just been granted: a refusal of it is hardly its own fault.
    var isFresh: Bool { get }
    /// See ``CredentialFingerprint``; 0 for no credential.
    var fingerprint: UInt64 { get }
    /// The request headers with the current secret, built once for each.
    var headers: RequestHeaders { get }
    func readiness() -> SendGate.Credential
    /// This worker cannot send for now; others may be able to.
    var isStuck: Bool { get }
    func refused(_ generation: Int)
    /// Fetches a newer secret while sends continue with the current one, which another API refused.
    func renew(_ generation: Int)
    /// The project's probe: a credential that was refused is tried once more.
    func retryFailed()
    /// Called when the secret has changed, or when fetching one failed.
    var onChange: () -> Void { get set }
    func start()
    func close()
}

/// The headers of a project's requests for each kind of body. All requests with a secret share the same arrays.
struct RequestHeaders {
    let json: [String]
    let form: [String]
    let management: [String]

    /// - Parameters:
    ///   - authorization: the header's value.
    ///   - isOAuth: adds the header without which management requests refuse an access token.
    ///   - senderID: identifies the project in group requests; empty if it is not configured.
    ///   - quotaProject: the project that is billed for the requests; nil for the credential's own.
    init(authorization: String, isOAuth: Bool, senderID: String, quotaProject: String? = nil) {
        let common = ["Authorization: \(authorization)"] + (quotaProject.map { ["x-goog-user-project: \($0)"] } ?? [])
        json = common + ["Content-Type: application/json; charset=utf-8"]
        form = common + ["Content-Type: application/x-www-form-urlencoded;charset=UTF-8"]
        management =
            json + (isOAuth ? ["access_token_auth: true"] : []) + (senderID.isEmpty ? [] : ["project_id: \(senderID)"])
    }

    func lines(_ headers: HeaderSet) -> [String] {
        switch headers {
        case .json: json
        case .form: form
        case .management: management
        }
    }
}

/// The legacy server key, which cannot be fetched again.
final class ServerKeyCredential: CredentialSource {
    let projectID: String? = nil
    let generation = 0
    let isFresh = false
    let fingerprint: UInt64
    let headers: RequestHeaders
    let isStuck = false
    var onChange: () -> Void = {}
    /// Why FCM refused the key over XMPP; nil once a connection was accepted, or for the project's probe. Sends wait
    /// meanwhile; connections are tried by the pool, since they also carry upstream messages.
    var failure: Failure?

    init(_ project: WorkerConfiguration.Project) {
        fingerprint = CredentialFingerprint.of(serverKey: project.serverKey ?? "")
        headers = RequestHeaders(
            authorization: "key=\(project.serverKey ?? "")",
            isOAuth: false,
            senderID: project.senderID ?? ""
        )
    }

    func readiness() -> SendGate.Credential { failure.map { .failed($0) } ?? .ready }
    func refused(_ generation: Int) {}
    func renew(_ generation: Int) {}
    func retryFailed() { failure = nil }
    func start() {}
    func close() {}
}

/// The credential of a project whose file was deleted while the worker ran: no send begins, and the first one blocks the
/// project.
final class LostCredential: CredentialSource {
    let projectID: String? = nil
    let generation = 0
    let isFresh = false
    let fingerprint: UInt64 = 0
    let headers = RequestHeaders(authorization: "", isOAuth: false, senderID: "")
    let isStuck = false
    var onChange: () -> Void = {}
    private let failure: Failure

    /// - Parameter reason: such as `credentials: the file was deleted`.
    init(_ reason: String) {
        failure = Failure(error: .thirdPartyAuthError, action: .fixCredentials, rawError: reason, httpStatus: 0)
    }

    func readiness() -> SendGate.Credential { .failed(failure) }
    func refused(_ generation: Int) {}
    func renew(_ generation: Int) {}
    func retryFailed() {}
    func start() {}
    func close() {}
}
