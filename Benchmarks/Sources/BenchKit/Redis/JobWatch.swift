/// How a job ended, as its hash counts it.
struct JobCounts: Equatable {
    let sent: Int
    let failed: Int
    let total: Int
}

/// A job as a producer sees it: pushed with `XADD`, followed through its hash.
struct JobWatch {
    private static let over: Set<String> = ["done", "cancelled", "expired", "rejected", "parked", "paused"]

    let redis: PrivateRedis
    let project: String
    let id: String

    private var hash: String { "fanfare:{\(project)}:job:\(id)" }

    func push(_ content: JobContent) throws {
        try redis.client.send(["XADD", "fanfare:{\(project)}:jobs", "*", "id", id] + content.fields)
    }

    /// Recipients that have been sent to so far.
    func sentSoFar() throws -> Int {
        guard case .text(let text) = try redis.client.send("HGET", hash, "sent") else { return 0 }
        return Int(text) ?? 0
    }

    /// When everybody had been sent to once, Unix milliseconds.
    func firstPassMs() throws -> Double {
        guard case .text(let text) = try redis.client.send("HGET", hash, "first_pass_ms"), let time = Double(text)
        else {
            throw BenchError.failed("job \(id) does not say when its first pass was over")
        }
        return time
    }

    /// Waits until a worker has handed the job over, to wait for its time.
    func waitUntilScheduled(seconds: Double, whileRunning check: () throws -> Void) throws {
        try Patience.wait(for: "job \(id) to wait for its time", seconds: seconds) { () -> Void? in
            try check()
            guard case .text("scheduled") = try redis.client.send("HGET", hash, "state") else { return nil }
            return ()
        }
    }

    /// Waits until the job is in one of these states.
    func wait(for states: [String], seconds: Double, whileRunning check: () throws -> Void) throws {
        try Patience.wait(for: "job \(id) to be \(states.joined(separator: " or "))", seconds: seconds) { () -> Void? in
            try check()
            guard case .text(let state) = try redis.client.send("HGET", hash, "state") else { return nil }
            return states.contains(state) ? () : nil
        }
    }

    /// Waits until everybody was sent to once.
    func finishFirstPass(seconds: Double, whileRunning check: () throws -> Void) throws {
        try Patience.wait(for: "the first pass of job \(id)", seconds: seconds) { () -> Void? in
            try check()
            guard case .text = try redis.client.send("HGET", hash, "first_pass_ms") else { return nil }
            return ()
        }
    }

    /// Waits until the job is `done`; another end is an error.
    /// - Parameter mayFail: whether recipients may end as `failed`.
    func finish(
        seconds: Double,
        mayFail: Bool = false,
        whileRunning check: () throws -> Void
    ) throws -> JobCounts {
        let fields = ["state", "sent", "failed", "total", "reason"]
        let values = try Patience.wait(for: "job \(id)", seconds: seconds) { () -> [String]? in
            try check()
            guard case .array(let values) = try redis.client.send(["HMGET", hash] + fields) else { return nil }
            let texts = values.map { if case .text(let text) = $0 { text } else { "" } }
            return Self.over.contains(texts[0]) ? texts : nil
        }
        guard values[0] == "done", let sent = Int(values[1]), let failed = Int(values[2]), let total = Int(values[3]),
            sent + failed == total, mayFail || failed == 0
        else {
            let said = zip(fields, values).map { "\($0) \($1)" }.joined(separator: ", ")
            throw BenchError.failed("job \(id) ended otherwise than it should: \(said)")
        }
        return JobCounts(sent: sent, failed: failed, total: total)
    }
}
