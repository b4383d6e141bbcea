/// One figure made of counts: of a worker's whole path, for one send or for a thousand.
struct CountFigure {
    let name: String
    let meaning: String
    /// It follows how much a turn of the loop finds ready, and so the machine: its budget has room for that.
    var followsTurns = false
    let value: @Sendable (CallCounts, _ sends: Int) -> Double

    static let systemCallNames = [
        "read", "write", "readv", "writev", "send", "sendto", "sendmsg", "recv", "recvfrom", "recvmsg", "poll",
        "select", "epoll_wait", "epoll_ctl", "setsockopt", "getsockopt", "ioctl", "getrandom",
    ]
    static let allocationNames = ["malloc", "calloc", "realloc", "aligned_alloc"]

    static let all = [
        perSend("system_calls_per_send", "I/O system calls, and getrandom", of: systemCallNames),
        perSend("allocations_per_send", "calls of the allocator that ask for memory", of: allocationNames),
        perSend("allocated_bytes_per_send", "bytes asked for", of: ["allocated_bytes"]),
        perSend("copied_bytes_per_send", "bytes that memcpy and memmove copied", of: ["copied_bytes"]),
        perSend("redis_bytes_per_send", "bytes to and from Redis", of: ["unix_out_bytes", "unix_in_bytes"]),
        perSend("fcm_bytes_per_send", "bytes to and from FCM, as TLS", of: ["inet_out_bytes", "inet_in_bytes"]),
        CountFigure(
            name: "redis_requests_per_1000",
            meaning: "writes to Redis for 1,000 sends: round trips at most",
            followsTurns: true
        ) { 1_000 * Double($0["unix_out"]) / Double($1) },
    ]

    static func named(_ name: String) -> CountFigure? { all.first { $0.name == name } }

    private static func perSend(_ name: String, _ meaning: String, of counters: [String]) -> CountFigure {
        CountFigure(name: name, meaning: meaning) { Double($0.sum(counters)) / Double($1) }
    }
}
