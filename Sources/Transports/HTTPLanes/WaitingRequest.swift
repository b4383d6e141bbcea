internal import FanfareModel

/// A request that waits for a stream.
struct WaitingRequest {
    var request: HTTPRequest
    /// Monotonic milliseconds.
    var deadlineMs: Int64
    /// How often the server refused it.
    var refusals = 0
    /// How often it came back from a lane, for any reason.
    var moves = 0
    /// Why it came back from a lane; nil when it did not.
    var lastReason: Reason?

    /// The request, to wait for another lane.
    func moved(isRefused: Bool, reason: Reason?) -> WaitingRequest {
        var waiting = self
        if isRefused { waiting.refusals += 1 }
        waiting.moves += 1
        waiting.lastReason = reason
        return waiting
    }
}
