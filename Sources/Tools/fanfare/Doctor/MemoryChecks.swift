extension Check {
    static let evictionPolicy = Check.server("eviction policy") { facts, _, report in
        let remedy = "maxmemory-policy noeviction (`CONFIG SET maxmemory-policy noeviction`, and in redis.conf)"
        guard let policy = facts.info["maxmemory_policy"] else {
            return report.warn("the server does not report it", remedy)
        }
        guard policy == "noeviction" else {
            return report.fail("\(policy): Redis may delete jobs and results when its memory is full", remedy)
        }
        report.ok(policy)
    }

    /// Workers take no new jobs above 80 %, so that results of sends in flight can still be written.
    static let memory = Check.server("memory") { facts, _, report in
        guard let used = facts.number("used_memory"), used >= 0 else {
            return report.warn("the server does not report its usage", "allow INFO")
        }
        guard let limit = facts.number("maxmemory"), limit > 0 else {
            let total = facts.number("total_system_memory").map { " of the machine's \(size($0))" } ?? ""
            let remedy = "set maxmemory below the machine's memory, so that workers stop taking jobs in time"
            return report.warn("no maxmemory; \(size(used))\(total) used", remedy)
        }
        let share = Double(used) / Double(limit)
        let text = "\(Int((share * 100).rounded(.down))) % of \(size(limit)) used"
        if share >= 0.8 {
            return report.fail("\(text): workers take no jobs above 80 %", "raise maxmemory, or read the results")
        }
        if share >= 0.6 { return report.warn("\(text); workers stop at 80 %", "raise maxmemory in time") }
        report.ok(text)
    }

    static let replicas = Check.server("replicas") { facts, _, report in
        let online = facts.onlineReplicas
        let least = facts.minReplicas ?? 0
        if Int64(online) < least {
            let remedy = "connect replicas, or lower min-replicas-to-write"
            return report.fail("\(online) online, min-replicas-to-write \(least): Redis refuses writes", remedy)
        }
        let connected = facts.number("connected_slaves") ?? 0
        if connected == 0 { return report.ok("none; the server alone holds everything") }
        if connected > Int64(online) {
            let remedy = "wait for their initial synchronisation, or see their logs"
            return report.warn("\(connected) connected, \(online) online", remedy)
        }
        if facts.replicaLag > 10 {
            let text = "\(online) online, one silent for \(facts.replicaLag) s"
            return report.warn(text, "check that replica's machine")
        }
        guard least > 0 else {
            let remedy = "min-replicas-to-write 1 keeps a cut-off primary from taking writes that a failover discards"
            return report.warn("\(online) online, and no write waits for them", remedy)
        }
        report.ok("\(online) online, min-replicas-to-write \(least)")
    }

    private static func size(_ bytes: Int64) -> String {
        let megabytes = Double(bytes) / 1_048_576
        if megabytes >= 10_240 { return "\(Int((megabytes / 1_024).rounded())) GiB" }
        return megabytes >= 10 ? "\(Int(megabytes.rounded())) MiB" : "\(max(0, bytes) / 1_024) KiB"
    }
}
