import FCMWire
import FanfareModel

@testable import FanfareWorker

/// Token endpoints that the test answers.
final class FakeEndpoints: TokenRequests {
    var onCompletion: (RequestOutcome) -> Void = { _ in }
    private(set) var calls: [TokenCall] = []
    private(set) var isClosed = false

    func send(_ call: TokenCall, timeoutMs: Int64) { calls.append(call) }
    func close() { isClosed = true }

    func answer(_ status: Int, _ body: String, retryAfter: String? = nil, date: String? = nil) {
        let body = Array(body.utf8)
        onCompletion(.answered(HTTPAnswer(status: status, body: body, retryAfter: retryAfter, date: date)))
    }

    func grant(_ token: String, seconds: Int = 3_600) {
        answer(200, #"{"access_token":"\#(token)","expires_in":\#(seconds),"token_type":"Bearer"}"#)
    }
}
