extension Check {
    static let evictionPolicy = Check.server { facts, _ in
        let name = "eviction policy"
        let remedy = "maxmemory-policy noeviction (`CONFIG SET maxmemory-policy noeviction`, and in redis.conf)"
        guard let policy = facts.info["maxmemory_policy"] else {
            return [.warn(name, "the server does not report it", remedy)]
        }
        guard policy == "noeviction" else {
            return [.fail(name, "\(policy): Redis may delete jobs and results when its memory is full", remedy)]
        }
        return [.ok(name, policy)]
    }

    /// Workers take no new jobs above 80 %, so that results of sends in flight can still be written.
    static let memory = Check.server { facts, _ in
        let name = "memory"
        guard let used = facts.number("used_memory"), used >= 0 else {
            return [.warn(name, "the server does not report its usage", "allow INFO")]
        }
        let limit = max(0, facts.number("maxmemory") ?? 0)
        guard limit > 0 else {
            let total = facts.number("total_system_memory").map { " of the machine's \(size($0))" } ?? ""
            let remedy = "set maxmemory below the machine's memory, so that workers stop taking jobs in time"
            return [.warn(name, "no maxmemory; \(size(used))\(total) used", remedy)]
        }
        let share = Double(used) / Double(limit)
        let text = "\(Int((share * 100).rounded(.down))) % of \(size(limit)) used"
        if share >= 0.8 {
            return [.fail(name, "\(text): workers take no jobs above 80 %", "raise maxmemory, or read the results")]
        }
        if share >= 0.6 { return [.warn(name, "\(text); workers stop at 80 %", "raise maxmemory in time")] }
        return [.ok(name, text)]
    }

    static let replicas = Check.server { facts, _ in
        let name = "replicas"
        let online = facts.onlineReplicas
        if let least = facts.minReplicas, least > 0, Int64(online) < least {
            let remedy = "connect replicas, or lower min-replicas-to-write"
            return [.fail(name, "\(online) online, min-replicas-to-write \(least): Redis refuses writes", remedy)]
        }
        let connected = facts.number("connected_slaves") ?? 0
        if connected == 0 { return [.ok(name, "none; the server alone holds everything")] }
        if connected > Int64(online) {
            return [
                .warn(
                    name,
                    "\(connected) connected, \(online) online",
                    "wait for their initial synchronisation, or see their logs"
                )
            ]
        }
        if facts.replicaLag > 10 {
            return [
                .warn(name, "\(online) online, one silent for \(facts.replicaLag) s", "check that replica's machine")
            ]
        }
        guard let least = facts.minReplicas, least > 0 else {
            let remedy = "min-replicas-to-write 1 keeps a cut-off primary from taking writes that a failover discards"
            return [.warn(name, "\(online) online, and no write waits for them", remedy)]
        }
        return [.ok(name, "\(online) online, min-replicas-to-write \(least)")]
    }

    private static func size(_ bytes: Int64) -> String {
        let megabytes = Double(bytes) / 1_048_576
        if megabytes >= 10_240 { return "\(Int((megabytes / 1_024).rounded())) GiB" }
        return megabytes >= 10 ? "\(Int(megabytes.rounded())) MiB" : "\(max(0, bytes) / 1_024) KiB"
    }
}
