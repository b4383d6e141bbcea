/// Redis' time for the commands of a gateway and of a worker, microseconds a send. Both are in a run's figures.
///
/// Redis counts time and not CPU: a script that has to wait for a core counts the wait. Sockets and the append-only file are
/// not in it.
enum CommandTimes {
    static let gateway = Measure.figure("redis_gateway_us_per_send", "gateway's scripts µs", decimals: 1)
    static let worker = Measure.figure("redis_worker_us_per_send", "worker's scripts µs", decimals: 1)

    /// Clients of Redis by the commands that only they call. A gateway's other commands are inside of its scripts.
    private static let commands = [
        gateway.name: ["eval", "evalsha", "xread"], worker.name: ["fcall", "fcall_ro", "xreadgroup"],
    ]

    static func figures(_ times: [String: Int], since before: [String: Int], sends: Int) -> [String: Double] {
        commands.mapValues { names in
            let microseconds = names.reduce(0) { $0 + (times[$1] ?? 0) - (before[$1] ?? 0) }
            return Double(microseconds) / Double(sends)
        }
    }
}
