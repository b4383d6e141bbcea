internal import FCMWire
internal import FanfareModel

/// What authenticates a project's sends.
protocol CredentialSource: AnyObject {
    /// The id that the credential itself names; the v1 path is built from it.
    var projectID: String? { get }
    /// Which secret ``headers`` carry now; a refusal of an older one means nothing.
    var generation: Int { get }
    /// Complete request headers, built once for each secret.
    var headers: [String] { get }
    /// False for a secret that cannot be fetched anew.
    var canRefresh: Bool { get }
    func readiness() -> CredentialReadiness
    func refused(_ generation: Int)
    /// The project's probe: a credential that was refused is tried once more.
    func retryFailed()
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
    let headers: [String]
    let canRefresh = false

    init(serverKey: String) { headers = ["Authorization: key=\(serverKey)", "Content-Type: application/json"] }

    func readiness() -> CredentialReadiness { .ready }
    func refused(_ generation: Int) {}
    func retryFailed() {}
}
