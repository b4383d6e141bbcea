internal import NIOConcurrencyHelpers

/// What becomes known of a request while it is answered, for its metrics.
final class RequestTally: Sendable {
    private struct State {
        var key: String?
        var isRepeated = false
        var hasLeft = false
    }

    /// The value of the metrics' label `api`.
    let api: String
    let startNs: UInt64
    private let state = NIOLockedValueBox(State())

    init(api: String, startNs: UInt64) { (self.api, self.startNs) = (api, startNs) }

    /// The name of the request's key; nil until one was admitted.
    var key: String? { state.withLockedValue { $0.key } }

    /// Whether the answer is that of an earlier equal request.
    var isRepeated: Bool { state.withLockedValue { $0.isRepeated } }

    /// Whether the client left before its answer was made.
    var hasLeft: Bool { state.withLockedValue { $0.hasLeft } }

    func recordKey(_ key: String) { state.withLockedValue { $0.key = key } }

    func markRepeated() { state.withLockedValue { $0.isRepeated = true } }

    func markLeft() { state.withLockedValue { $0.hasLeft = true } }
}
