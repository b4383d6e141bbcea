internal import NIOConcurrencyHelpers

/// What becomes known of a request while it is answered, for its metrics. It goes with the task, so that no route carries it.
final class RequestTally: Sendable {
    /// Of the request that this task answers.
    @TaskLocal static var current: RequestTally?

    private struct State {
        var key: String?
        var isRepeated = false
    }

    private let state = NIOLockedValueBox(State())

    /// The name of the request's key; nil until one was admitted.
    var key: String? { state.withLockedValue { $0.key } }

    /// Whether the answer is that of an earlier equal request.
    var isRepeated: Bool { state.withLockedValue { $0.isRepeated } }

    func recordKey(_ key: String) { state.withLockedValue { $0.key = key } }

    func markRepeated() { state.withLockedValue { $0.isRepeated = true } }
}
