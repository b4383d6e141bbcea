/// Limits beside the quota. Each function but `hold` answers the milliseconds to wait; 0: it may begin, and is counted.
extension FunctionLibrary {
    /// Asks whether a send to a recipient, `<kind>:<recipient>`, that FCM refused for its rate may begin.
    ///
    /// - Parameter nowMs: the worker's estimate of the project's time; 0 when it has none yet.
    public static func pace(_ keys: ProjectKeys, recipient: String, nowMs: Int64 = 0) -> RedisCommand {
        call("pace", keys, ["recipient": recipient, "worker_clock": String(nowMs)])
    }

    /// Asks whether so many subscriptions or group operations may begin.
    public static func manage(_ keys: ProjectKeys, count: Int) -> RedisCommand {
        call("manage", keys, ["count": String(count)])
    }

    /// Reports how many XMPP connections a worker has, and asks whether it may open one more.
    public static func connect(_ keys: ProjectKeys, worker: String, open: Int, wantsMore: Bool) -> RedisCommand {
        call("connect", keys, ["worker": worker, "open": String(open), "wants_more": wantsMore ? "1" : "0"])
    }

    /// Makes every send of the project wait. Answers until when, in the project's time.
    public static func hold(_ keys: ProjectKeys, milliseconds: Int64) -> RedisCommand {
        call("hold", keys, ["ms": String(milliseconds)])
    }
}
