public import StreamWire

extension ProjectSnapshot {
    /// Reads the reply of `fleet`; nil if it is another reply. Missing fields keep their default.
    public init?(id: String, reply: RedisValue) {
        guard let overview = OverviewReply(reply), let fields = NamedValues(reply) else { return nil }
        func number(_ name: String) -> Int64 { Self.count(fields.number(name)) }
        func jobs(_ name: String) -> [FleetJob] { fields.list(name).compactMap { FleetJob($0) } }
        self.init(id: id, overview: overview)
        recipientsWaiting = number("left")
        oldestWaitMs = number("oldest_ms")
        waitingSingles = number("singles") + number("groups")
        waitingManaged = number("managed")
        dead = number("dead")
        results = number("results")
        unreadResults = fields.number("unread").map { Self.count($0) }
        probeMs = number("probe_ms")
        if let have = fields.text("have").flatMap({ Double($0) }), have > 0, have < 1e12 { permits = have }
        tally = ResultTally(fields["tally"])
        holding = jobs("holding")
        queued = jobs("queued")
        parked = jobs("needing")
        others = jobs("others").sorted {
            ($0.status.createdMs ?? 0, $0.status.id) > ($1.status.createdMs ?? 0, $1.status.id)
        }
        leases = fields.list("leases").compactMap { WorkerLease($0) }.sorted { $0.name < $1.name }
    }

    /// A bounded count, so that sums cannot overflow.
    fileprivate static func count(_ number: Int64?) -> Int64 { min(1_000_000_000_000_000, max(0, number ?? 0)) }
}

extension ResultTally {
    fileprivate init(_ value: RedisValue?) {
        self.init()
        let counts = value.flatMap { NamedValues($0) }
        func number(_ name: String) -> Int64 { ProjectSnapshot.count(counts?.number(name)) }
        sent = number("sent")
        failed = number("failed")
        unknown = number("unknown")
        cancelled = number("cancelled")
        expired = number("expired")
        retries = number("retries")
    }
}

extension FleetJob {
    fileprivate init?(_ value: RedisValue) {
        guard let fields = NamedValues(value), let id = fields.text("id"), let job = fields["job"],
            let status = JobStatus(id: id, reply: job)
        else { return nil }
        self.status = status
        jobClass = fields.text("class").flatMap { JobPlan.Class(rawValue: $0) }
        priority = fields.number("priority").flatMap { (0...9).contains($0) ? Int($0) : nil }
        ending = fields.text("ending").flatMap { $0.isEmpty ? nil : $0 }
    }
}

extension WorkerLease {
    fileprivate init?(_ value: RedisValue) {
        guard let fields = NamedValues(value), let name = fields.text("name") else { return nil }
        self.name = name
        silentMs = fields.number("silent_ms").map { ProjectSnapshot.count($0) }
        card = fields.text("about").flatMap { WorkerRegistration($0) }
        batches = ProjectSnapshot.count(fields.number("batches"))
    }
}
