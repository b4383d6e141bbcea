internal import FCMWire
internal import FanfareModel

/// What authenticates a project's sends.
protocol CredentialSource: AnyObject {
    /// The id that the credential itself names; the v1 path is built from it.
    var projectID: String? { get }
    /// Which secret ``headers`` carry now; a refusal of an older one means nothing.
    var generation: Int { get }
    /// Complete request headers, built once for each secret.
    var headers: RequestHeaders { get }
    /// False for a secret that cannot be fetched anew.
    var canRefresh: Bool { get }
    func readiness() -> CredentialReadiness
    /// This worker cannot send, for a reason of its own; others may.
    var isStuck: Bool { get }
    func refused(_ generation: Int)
    /// Fetches a newer secret, while sends go on with the current one: another API refused this one.
    func renew(_ generation: Int)
    /// The project's probe: a credential that was refused is tried once more.
    func retryFailed()
}

/// The headers of a project's requests, by what they carry. The same arrays serve all requests of a secret.
struct RequestHeaders {
    let json: [String]
    let form: [String]
    let management: [String]

    /// - Parameters:
    ///   - authorization: the header's value.
    ///   - isOAuth: management takes an access token only where it is announced.
    ///   - senderID: names the project to management of groups; empty when it is not known.
    init(authorization: String, isOAuth: Bool, senderID: String) {
        let authorization = "Authorization: \(authorization)"
        json = [authorization, "Content-Type: application/json; charset=utf-8"]
        form = [authorization, "Content-Type: application/x-www-form-urlencoded;charset=UTF-8"]
        management =
            json + (isOAuth ? ["access_token_auth: true"] : []) + (senderID.isEmpty ? [] : ["project_id: \(senderID)"])
    }

    func lines(for adapter: ProtocolAdapter) -> [String] {
        switch adapter {
        case .v1, .multicast, .xmpp: return json
        case .plainText: return form
        case .topicBatch, .topicSubscription, .group: return management
        }
    }
}

enum CredentialReadiness {
    case ready
    case wait
    case failed(Failure)
}

/// The legacy server key: it is right or it is not.
final class ServerKeyCredential: CredentialSource {
    let projectID: String? = nil
    let generation = 0
    let headers: RequestHeaders
    let canRefresh = false
    let isStuck = false
    /// Why FCM let nobody in over XMPP; nil once a connection was let in, or for the project's probe. Sends wait for that;
    /// connections are tried by themselves, since they also carry what comes in.
    var refusal: Failure?

    init(serverKey: String, senderID: String) {
        headers = RequestHeaders(authorization: "key=\(serverKey)", isOAuth: false, senderID: senderID)
    }

    func readiness() -> CredentialReadiness { refusal.map { .failed($0) } ?? .ready }
    func refused(_ generation: Int) {}
    func renew(_ generation: Int) {}
    func retryFailed() { refusal = nil }
}
