internal import StreamWire

/// Rates over the last five seconds and estimated times, from successive snapshots.
public struct FleetMeter: Sendable {
    private static let windowMs: Int64 = 5_000
    /// Minimum time between two counts for a rate.
    private static let leastMs: Int64 = 500

    private struct Sample: Sendable {
        var atMs: Int64
        var tally: ResultTally
        /// Results of the listed jobs, by id.
        var jobs: [String: Int64]
    }

    private var samples: [String: [Sample]] = [:]

    public init() {}

    public mutating func add(_ snapshot: FleetSnapshot) {
        let ids = Set(snapshot.projects.map(\.id))
        samples = samples.filter { ids.contains($0.key) }
        for project in snapshot.projects {
            let listed = project.holding + project.queued + project.others
            let jobs = Dictionary(listed.map { ($0.status.id, $0.status.attempted) }) { first, _ in first }
            let sample = Sample(atMs: project.overview.nowMs, tally: project.tally, jobs: jobs)
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

    /// Attempted results a second of a job; nil if it was not sampled twice.
    public func rate(of job: String, in project: String) -> Double? {
        guard let (_, last, _) = window(project), let now = last.jobs[job],
            let first = samples[project]?.first(where: { $0.jobs[job] != nil }), let then = first.jobs[job],
            last.atMs - first.atMs >= Self.leastMs
        else { return nil }
        return max(0, Double(now - then) * 1_000 / Double(last.atMs - first.atMs))
    }

    /// Estimated seconds until the job's last result, at its recent rate or else at its average; nil if unknown.
    public func remainingSeconds(of job: FleetJob, in project: ProjectSnapshot) -> Double? {
        var progress = JobProgress(status: job.status, nowMs: project.overview.nowMs)
        if let leftMs = project.overview.activeLeftMs[job.status.id] {
            progress.turn = .holding(untilMs: progress.nowMs + leftMs)
        }
        guard job.status.state == .active, case .none = progress.turn,
            let rate = rate(of: job.status.id, in: project.id), rate > 0
        else { return progress.remainingSeconds }
        return Double(max(0, job.status.total - job.status.finished)) / rate
    }

    /// Estimated seconds until nothing of the project waits, at the rate over the last seconds or else at its full quota.
    public func drainSeconds(of project: ProjectSnapshot) -> Double? {
        guard let rates = rates(of: project.id), rates.results > 0 else { return project.drainSeconds }
        return Double(project.recipientsWaiting + project.overview.entries) / rates.results
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
