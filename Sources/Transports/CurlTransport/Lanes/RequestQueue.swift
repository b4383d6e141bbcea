internal import DequeModule

/// Requests that wait for a stream, in order of arrival; those that come back from a lane go first.
struct RequestQueue {
    private var requests: Deque<WaitingRequest> = []

    var count: Int { requests.count }
    var isEmpty: Bool { requests.isEmpty }

    mutating func append(_ request: WaitingRequest) { requests.append(request) }

    mutating func prepend(_ request: WaitingRequest) { requests.prepend(request) }

    mutating func popFirst() -> WaitingRequest? { requests.popFirst() }

    mutating func removeAll() -> [WaitingRequest] {
        defer { requests = [] }
        return Array(requests)
    }

    /// Removes and returns the requests whose deadline has come.
    mutating func removeLate(_ nowMs: Int64) -> [WaitingRequest] {
        let late = Array(requests.lazy.filter { $0.deadlineMs <= nowMs })
        if !late.isEmpty { requests.removeAll { $0.deadlineMs <= nowMs } }
        return late
    }
}

/// A request that waits for a stream.
struct WaitingRequest {
    var request: HTTPRequest
    /// Monotonic milliseconds.
    var deadlineMs: Int64
    /// How often the server refused it.
    var refusals = 0
    /// How often it came back from a lane, for whatever reason.
    var moves = 0
    /// Why it came back from a lane; empty when it did not.
    var lastReason = ""
}
