public import StreamWire

extension ProjectSnapshot {
    /// Reads the reply of `fleet`; nil if it is another reply. Missing fields keep their default.
    public init?(id: String, reply: RedisValue) {
        guard let overview = OverviewReply(reply), let fields = NamedValues(reply) else { return nil }
        func jobs(_ name: String) -> [FleetJob] { fields.list(name).compactMap { FleetJob($0) } }
        self.init(id: id, overview: overview)
        recipientsWaiting = fields.count("left")
        oldestWaitMs = fields.count("oldest_ms")
        waitingSingles = fields.count("singles") + fields.count("groups")
        waitingManaged = fields.count("managed")
        dead = fields.count("dead")
        results = fields.count("results")
        if fields.number("unread") != nil { unreadResults = fields.count("unread") }
        probeMs = fields.count("probe_ms")
        if let have = fields.text("have").flatMap({ Double($0) }), have > 0, have < 1e12 { permits = have }
        if let counts = fields["tally"].flatMap(NamedValues.init) { tally = ResultTally(counts) }
        holding = jobs("holding")
        queued = jobs("queued")
        parked = jobs("needing")
        stopped = fields.list("stopped").compactMap { StoppedJob($0) }
        rejected = fields["rejected"].flatMap { RejectedJob($0) }
        // The others are a sample, which may lack a stopped job.
        let sample = jobs("others")
        let known = Set((holding + queued + parked + sample).map(\.status.id))
        let missing = stopped.filter { !known.contains($0.status.id) }.map { FleetJob(status: $0.status) }
        others = (sample + missing).sorted {
            ($0.status.createdMs ?? 0, $0.status.id) > ($1.status.createdMs ?? 0, $1.status.id)
        }
        leases = fields.list("leases").compactMap { WorkerLease($0) }.sorted { $0.name < $1.name }
    }
}

extension ResultTally {
    fileprivate init(_ counts: NamedValues) {
        sent = counts.count("sent")
        failed = counts.count("failed")
        unknown = counts.count("unknown")
        cancelled = counts.count("cancelled")
        expired = counts.count("expired")
        retries = counts.count("retries")
        maybeDup = counts.count("maybe_dup")
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

extension RejectedJob {
    fileprivate init?(_ value: RedisValue) {
        guard let fields = NamedValues(value), let entry = fields.text("entry"), !entry.isEmpty,
            let job = fields.text("job"), let reason = fields.text("reason")
        else { return nil }
        self.init(entry: entry, job: job, reason: reason)
        atMs = fields.number("at_ms") == nil ? nil : fields.count("at_ms")
    }
}

extension WorkerLease {
    fileprivate init?(_ value: RedisValue) {
        guard let fields = NamedValues(value), let name = fields.text("name") else { return nil }
        self.name = name
        silentMs = fields.number("silent_ms") == nil ? nil : fields.count("silent_ms")
        card = fields.text("about").flatMap { WorkerRegistration($0) }
        batches = fields.count("batches")
    }
}
