extension FunctionLibrary {
    /// Stores when a job's send window is open next. Answers `ok`, or `gone`: the job is over or has no window.
    public static func setWindow(_ keys: ProjectKeys, job: String, _ times: WindowTimes) -> RedisCommand {
        call(
            "set_window",
            keys,
            ["id": job, "opens": String(times.opensMs), "closes": String(times.closesMs), "reason": times.reason]
        )
    }
}

/// The next span in which a job's send window is open, computed by a worker: Redis knows no time zones.
public struct WindowTimes: Equatable, Sendable {
    /// Unix milliseconds; in the past while the window is open.
    public var opensMs: Int64
    /// Unix milliseconds, after the opening. From then on a worker computes the next span.
    public var closesMs: Int64
    /// Text for the job's hash while the window is closed.
    public var reason: String

    public init(opensMs: Int64, closesMs: Int64, reason: String) {
        self.opensMs = opensMs
        self.closesMs = closesMs
        self.reason = reason
    }

    /// As fields of the job's spec.
    var texts: [(name: String, value: String)] {
        [("opens", String(opensMs)), ("closes", String(closesMs)), ("window_reason", reason)]
    }
}
