import FCMWire
import FanfareCore

@testable import FanfareWorker

/// A credential that the test sets, and that records what it is told.
final class FakeCredential: CredentialSource {
    var projectID: String?
    var generation = 1
    var isFresh = false
    var fingerprint: UInt64 = 7
    var headers = RequestHeaders(authorization: "key=k", isOAuth: false, senderID: "")
    var state = SendGate.Credential.ready
    var isStuck = false
    var onChange: () -> Void = {}
    private(set) var refusals: [Int] = []
    private(set) var renewals: [Int] = []
    private(set) var retries = 0
    private(set) var isClosed = false

    func readiness() -> SendGate.Credential { state }
    func refused(_ generation: Int) { refusals.append(generation) }
    func renew(_ generation: Int) { renewals.append(generation) }
    func retryFailed() { retries += 1 }
    func start() {}
    func close() { isClosed = true }
}
