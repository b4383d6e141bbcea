public import StreamWire

extension ProjectSnapshot {
    /// Reads the reply of `fleet`; nil if it is another reply. Missing fields keep their default.
    public init?(id: String, reply: RedisValue) {
        guard let overview = OverviewReply(reply), let flat = reply.array else { return nil }
        var fields: [String: RedisValue] = [:]
        for index in stride(from: 0, to: flat.count - 1, by: 2) { fields[flat[index].string ?? ""] = flat[index + 1] }
        func number(_ name: String) -> Int64 { Self.count(fields[name]?.integer) }
        func jobs(_ name: String) -> [FleetJob] { (fields[name]?.array ?? []).compactMap { FleetJob($0) } }
        self.init(id: id, overview: overview)
        recipientsWaiting = number("left")
        oldestWaitMs = number("oldest_ms")
        waitingSingles = number("singles") + number("groups")
        waitingManaged = number("managed")
        dead = number("dead")
        results = number("results")
        unreadResults = fields["unread"]?.integer.map { Self.count($0) }
        probeMs = number("probe_ms")
        if let have = (fields["have"]?.string).flatMap({ Double($0) }), have > 0, have < 1e12 { permits = have }
        tally = ResultTally(fields["tally"])
        holding = jobs("holding")
        queued = jobs("queued")
        parked = jobs("needing")
        others = jobs("others").sorted {
            ($0.status.createdMs ?? 0, $0.status.id) > ($1.status.createdMs ?? 0, $1.status.id)
        }
        leases = (fields["crew"]?.array ?? []).compactMap { WorkerLease($0) }.sorted { $0.name < $1.name }
    }

    /// A bounded count, so that sums cannot overflow.
    fileprivate static func count(_ number: Int64?) -> Int64 { min(1_000_000_000_000_000, max(0, number ?? 0)) }
}

extension ResultTally {
    fileprivate init(_ value: RedisValue?) {
        self.init()
        let flat = value?.array ?? []
        for index in stride(from: 0, to: flat.count - 1, by: 2) {
            let number = ProjectSnapshot.count(flat[index + 1].integer)
            switch flat[index].string {
            case "sent": sent = number
            case "failed": failed = number
            case "unknown": unknown = number
            case "cancelled": cancelled = number
            case "expired": expired = number
            case "retries": retries = number
            default: break
            }
        }
    }
}

extension FleetJob {
    fileprivate init?(_ value: RedisValue) {
        guard let parts = value.array, parts.count >= 5, let id = parts[0].string,
            let status = JobStatus(id: id, reply: parts[1])
        else { return nil }
        self.status = status
        jobClass = parts[2].string.flatMap { JobPlan.Class(rawValue: $0) }
        priority = parts[3].integer.flatMap { (0...9).contains($0) ? Int($0) : nil }
        ending = parts[4].string.flatMap { $0.isEmpty ? nil : $0 }
    }
}

extension WorkerLease {
    fileprivate init?(_ value: RedisValue) {
        guard let parts = value.array, parts.count >= 4, let name = parts[0].string else { return nil }
        self.name = name
        silentMs = parts[1].integer.map { ProjectSnapshot.count($0) }
        card = parts[2].string.flatMap { WorkerRegistration($0) }
        batches = ProjectSnapshot.count(parts[3].integer)
    }
}
