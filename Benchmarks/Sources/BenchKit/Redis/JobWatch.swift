/// A job as a producer sees it: pushed with `XADD`, followed through its hash.
struct JobWatch {
    private static let over: Set<String> = ["done", "cancelled", "expired", "rejected", "parked", "paused"]

    let redis: PrivateRedis
    let id: String

    private var hash: String { "fanfare:{\(Sink.project)}:job:\(id)" }

    /// Every result is asked for, so that the whole way from entry to recorded result is taken.
    func push(tokens: String) throws {
        try redis.client.send(
            "XADD",
            "fanfare:{\(Sink.project)}:jobs",
            "*",
            "id",
            id,
            "message",
            Payload.message,
            "tokens",
            tokens,
            "results",
            "all"
        )
    }

    /// How many recipients were sent; an end other than `done` is an error.
    func finish(seconds: Double, whileRunning check: () throws -> Void) throws -> Int {
        let fields = ["state", "sent", "failed", "total", "reason"]
        let values = try Patience.wait(for: "job \(id)", seconds: seconds) { () -> [String]? in
            try check()
            guard case .array(let values) = try redis.client.send(["HMGET", hash] + fields) else { return nil }
            let texts = values.map { if case .text(let text) = $0 { text } else { "" } }
            return Self.over.contains(texts[0]) ? texts : nil
        }
        guard values[0] == "done", let sent = Int(values[1]), values[2] == "0", values[1] == values[3] else {
            let said = zip(fields, values).map { "\($0) \($1)" }.joined(separator: ", ")
            throw BenchError.failed("job \(id) ended otherwise than it should: \(said)")
        }
        return sent
    }
}
