/// Requests that wait for a stream, in order of arrival; those that come back from a lane go first.
struct RequestQueue {
    private var returned: [WaitingRequest] = []
    private var waiting: [WaitingRequest] = []
    private var head = 0

    var count: Int { returned.count + waiting.count - head }
    var isEmpty: Bool { count == 0 }

    mutating func append(_ request: WaitingRequest) { waiting.append(request) }

    mutating func prepend(_ request: WaitingRequest) { returned.append(request) }

    mutating func popFirst() -> WaitingRequest? {
        if let request = returned.popLast() { return request }
        guard head < waiting.count else { return nil }
        let request = waiting[head]
        head += 1
        if head == waiting.count {
            waiting.removeAll(keepingCapacity: true)
            head = 0
        } else if head >= 512 {
            waiting.removeFirst(head)
            head = 0
        }
        return request
    }

    mutating func removeAll() -> [WaitingRequest] {
        var all: [WaitingRequest] = []
        while let request = popFirst() { all.append(request) }
        return all
    }

    /// Takes out those whose deadline has come.
    mutating func removeLate(_ nowMs: Int64) -> [WaitingRequest] {
        let isLate = { (request: WaitingRequest) in request.deadlineMs <= nowMs }
        guard returned.contains(where: isLate) || waiting[head...].contains(where: isLate) else { return [] }
        let late = returned.filter(isLate) + waiting[head...].filter(isLate)
        returned.removeAll(where: isLate)
        waiting = waiting[head...].filter { !isLate($0) }
        head = 0
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
