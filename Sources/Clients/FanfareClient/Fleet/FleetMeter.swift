internal import StreamWire

/// Rates over the last five seconds and estimated times, from successive snapshots.
public struct FleetMeter: Sendable {
    private static let windowMs: Int64 = 5_000
    /// Minimum time between two counts for a rate.
    private static let leastMs: Int64 = 500
    /// Minimum time over which a pace is measured for an estimate.
    private static let leastBasisMs: Int64 = 900
    /// Time over which the pace is compared with the ramp: short, since a pace leaves the ramp within a few seconds.
    private static let recentMs: Int64 = 2_000

    private struct Sample: Sendable {
        var atMs: Int64
        var tally: ResultTally
        /// Permits a second.
        var permits: Double
        /// Whether nothing stopped the project.
        var isFlowing: Bool
    }

    private var samples: [String: [Sample]] = [:]
    private var newest: [String: ProjectSnapshot] = [:]

    public init() {}

    public mutating func add(_ snapshot: FleetSnapshot) {
        let ids = Set(snapshot.projects.map(\.id))
        samples = samples.filter { ids.contains($0.key) }
        newest = Dictionary(snapshot.projects.map { ($0.id, $0) }) { first, _ in first }
        for project in snapshot.projects {
            let sample = Sample(
                atMs: project.overview.nowMs,
                tally: project.tally,
                permits: project.overview.permitsPerSecond,
                isFlowing: project.overview.isFlowing
            )
            var kept = samples[project.id] ?? []
            // A clock or count that went back means that Redis lost its last seconds: start again.
            if let last = kept.last, sample.atMs < last.atMs || sample.tally.sent < last.tally.sent { kept = [] }
            kept.append(sample)
            // Keep the newest sample before the window, as its start.
            while kept.count > 2, kept[1].atMs <= sample.atMs - Self.windowMs { kept.removeFirst() }
            samples[project.id] = kept
        }
    }

    /// Rates of a project; nil without two samples far enough apart.
    public func rates(of project: String) -> FleetRates? {
        guard let (first, last, seconds) = window(project) else { return nil }
        func rate(_ value: (ResultTally) -> Int64) -> Double {
            max(0, Double(value(last.tally) - value(first.tally)) / seconds)
        }
        return FleetRates(
            sent: rate(\.sent),
            failed: rate(\.failed),
            unknown: rate(\.unknown),
            retries: rate(\.retries)
        )
    }

    @available(*, deprecated, message: "use ProjectSnapshot.progress(of:).resultsPerSecond")
    public func rate(of job: String, in project: String) -> Double? {
        guard let project = newest[project] else { return nil }
        let listed = (project.holding + project.queued + project.others).first { $0.status.id == job }
        return listed.map { project.progress(of: $0) }?.resultsPerSecond
    }

    @available(*, deprecated, message: "use ProjectSnapshot.progress(of:).remainingSeconds")
    public func remainingSeconds(of job: FleetJob, in project: ProjectSnapshot) -> Double? {
        project.progress(of: job).remainingSeconds
    }

    /// Estimated seconds until nothing of the project waits for its first attempt, with what is pushed by now.
    ///
    /// nil while something stops the project, before there is a basis, and while only retries are left.
    public func drainSeconds(of project: ProjectSnapshot) -> Double? {
        let overview = project.overview
        let left = project.recipientsWaiting + overview.entries - overview.retrying - project.idleRecipients
        guard overview.isFlowing, left > 0 else { return nil }
        // Of a single job, what the job itself says.
        if let job = project.moving.first, project.moving.count == 1, job.status.pace != nil,
            job.status.unattempted >= left
        {
            return project.progress(of: job).remainingSeconds
        }
        guard let (first, last, seconds) = pace(of: project.id) else { return nil }
        let pace = (attempts(first, last) - Double(max(0, last.tally.retries - first.tally.retries))) / seconds
        return CompletionEstimate.seconds(
            left: left,
            pace: pace,
            share: pace / permits(since: first.atMs, in: project.id),
            keepsUp: keepsUp(project.id, since: first.atMs),
            ramp: overview.ramp
        )
    }

    /// The samples between which a pace is measured: nothing stopped the project meanwhile.
    private func pace(of project: String) -> (Sample, Sample, seconds: Double)? {
        guard let kept = samples[project], let last = kept.last else { return nil }
        let flowing = kept.reversed().prefix { $0.isFlowing }
        guard let first = flowing.last, last.atMs - first.atMs >= Self.leastBasisMs else { return nil }
        return (first, last, Double(last.atMs - first.atMs) / 1_000)
    }

    /// Whether the sends of the last two seconds, none before `startMs`, used the permits of that time.
    private func keepsUp(_ project: String, since startMs: Int64) -> Bool {
        guard let kept = samples[project], let last = kept.last,
            let first = kept.last(where: { $0.atMs <= max(startMs, last.atMs - Self.recentMs) }), first.atMs < last.atMs
        else { return false }
        let pace = attempts(first, last) * 1_000 / Double(last.atMs - first.atMs)
        let permits = permits(since: first.atMs, in: project)
        return permits > 0 && pace >= CompletionEstimate.keepsUpFrom * permits
    }

    /// Sends that ended between two samples, by a result or for a retry.
    private func attempts(_ first: Sample, _ last: Sample) -> Double {
        func sends(_ tally: ResultTally) -> Int64 { tally.sent + tally.failed + tally.unknown + tally.retries }
        return Double(max(0, sends(last.tally) - sends(first.tally)))
    }

    /// The mean of the permits a second since a sample.
    private func permits(since startMs: Int64, in project: String) -> Double {
        let kept = (samples[project] ?? []).filter { $0.atMs >= startMs }
        guard let first = kept.first, let last = kept.last, last.atMs > first.atMs else { return 0 }
        let area = zip(kept, kept.dropFirst()).reduce(0) { area, pair in
            area + (pair.0.permits + pair.1.permits) / 2 * Double(pair.1.atMs - pair.0.atMs)
        }
        return area / Double(last.atMs - first.atMs)
    }

    private func window(_ project: String) -> (Sample, Sample, seconds: Double)? {
        guard let first = samples[project]?.first, let last = samples[project]?.last,
            last.atMs - first.atMs >= Self.leastMs
        else { return nil }
        return (first, last, Double(last.atMs - first.atMs) / 1_000)
    }
}

/// Rates of a project, each a second.
public struct FleetRates: Equatable, Sendable {
    /// Accepted by FCM.
    public var sent: Double
    public var failed: Double
    public var unknown: Double
    /// Attempts that were put back for a retry.
    public var retries: Double

    public var results: Double { sent + failed + unknown }
}
