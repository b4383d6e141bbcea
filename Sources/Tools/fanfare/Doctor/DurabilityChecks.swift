internal import FanfareConfiguration

extension Check {
    /// Whether Redis persists its data, and whether writing works.
    static let persistence = Check.server("persistence") { facts, _, report in
        func hasFailed(_ status: String) -> Bool { facts.info[status].map { $0 != "ok" } ?? false }
        if hasFailed("aof_last_write_status") {
            let remedy = "free or repair its disk; until then Redis refuses writes"
            return report.fail("the last write to the append-only file failed", remedy)
        }
        guard facts.keepsAppendOnlyFile else {
            let loss =
                facts.settings["save"]?.isEmpty ?? false
                ? "off: a restart of Redis loses every job"
                : "snapshots only: a restart of Redis loses everything since the last one"
            return report.fail(loss, "appendonly yes (`CONFIG SET appendonly yes`, and in redis.conf)")
        }
        guard let fsync = facts.appendFsync else {
            let remedy = "check appendfsync yourself, or allow CONFIG GET"
            return report.warn("append-only file; this user may not read how often it is synced", remedy)
        }
        if fsync == "no" {
            let remedy = "appendfsync everysec or always (`CONFIG SET appendfsync everysec`, and in redis.conf)"
            return report.fail("appendfsync no: a power failure can lose any number of writes", remedy)
        }
        report.ok("append-only file, appendfsync \(fsync)")
        let remedy = "see Redis' log; the cause is disk or memory"
        if hasFailed("aof_last_bgrewrite_status") {
            report.warn("the last rewrite of the append-only file failed", remedy)
        }
        if hasFailed("rdb_last_bgsave_status") {
            let stops = facts.settings["stop-writes-on-bgsave-error"] != "no" && facts.settings["save"] != ""
            let outlook = stops ? "; Redis may refuse writes until it succeeds" : ""
            report.warn("the last snapshot failed", remedy + outlook)
        }
        if fsync == "everysec", let late = facts.number("aof_delayed_fsync"), late > 0 {
            let text = "\(late) syncs were late since Redis started: a power failure can cost more than a second"
            report.warn(text, "give Redis a faster or less busy disk")
        }
    }

    /// The loss that each failure can cause. The page Guarantees has the table.
    static let durability = Check.server("durability") { facts, configuration, report in
        guard facts.keepsAppendOnlyFile, let fsync = facts.appendFsync, ["always", "everysec"].contains(fsync) else {
            let text = "without the append-only file, a stop of Redis or its machine can lose every job"
            return report.warn(text, "see persistence")
        }
        let confirmed = configuration.redis.safeReplicas
        let stop =
            fsync == "always"
            ? "Redis killed or power lost: nothing is lost"
            : "Redis killed: usually nothing, at most the last 2 s; power lost: about the last second"
        let text = "worker killed: nothing is lost; \(stop); failover: \(failover(facts, confirmed))"
        if confirmed > 0, facts.onlineReplicas < confirmed {
            let text = "safe needs \(count(confirmed)), \(facts.onlineReplicas) online: nothing is sent"
            return report.fail(text, "connect replicas, or set redis.durability: fast")
        }
        if confirmed > 0, fsync != "always" || (facts.minReplicas ?? 0) < confirmed {
            let remedy =
                "appendfsync always and min-replicas-to-write \(confirmed), so that producers' writes are confirmed too"
            return report.warn("\(text); this Redis does not keep what safe promises", remedy)
        }
        report.ok(text)
    }

    private static func failover(_ facts: RedisFacts, _ confirmed: Int) -> String {
        if confirmed > 0 { return "nothing that \(count(confirmed)) confirmed (WAIT)" }
        if facts.onlineReplicas == 0 { return "no replica to fail over to" }
        if (facts.minReplicas ?? 0) > 0 { return "writes that no replica had confirmed are lost" }
        return "writes not yet replicated are lost, without a bound"
    }

    private static func count(_ replicas: Int) -> String { replicas == 1 ? "1 replica" : "\(replicas) replicas" }
}
