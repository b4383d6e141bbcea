/// A request that waits for a stream.
struct WaitingRequest {
    var request: HTTPRequest
    /// Monotonic milliseconds.
    var deadlineMs: Int64
    /// How often the server refused it.
    var refusals = 0
    /// How often it came back from a lane, for any reason.
    var moves = 0
    /// Why it came back from a lane; empty when it did not.
    var lastReason = ""
}
