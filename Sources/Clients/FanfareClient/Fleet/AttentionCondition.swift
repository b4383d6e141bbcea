internal import StreamWire

/// A condition of a project or of its jobs that needs an operator, with its remedy.
public struct AttentionCondition: Equatable, Sendable {
    /// A state of the project, or `stopped`, `canary`, `parked` or `rejected`: a condition of its jobs.
    public var kind: String
    /// What happened, without the project's id.
    public var text: String
    public var remedy: String
    /// The page of the Runbook.
    public var page: String
    /// The jobs that it is about.
    public var count: Int64 = 0
    /// What follows the number of jobs where several projects have this condition; nil if the text says it all.
    public var many: String?
    /// The job that it is about, of several the one that is named; nil for a project.
    public var job: String?
    /// The entry of `dead` that it is about, of a rejected job.
    public var entry: String?
    /// When it began, Unix milliseconds; nil if that is not known.
    public var sinceMs: Int64?

    /// Whether jobs need an operator, not the project.
    public var isOfJobs: Bool { ["stopped", "canary", "parked", "rejected"].contains(kind) }
}

extension ProjectSnapshot {
    /// Stopped jobs that are told one by one.
    private static let listed = 3

    /// What needs an operator: first the project, then its jobs.
    public var attentionConditions: [AttentionCondition] {
        [ofProject].compactMap { $0 } + ofStoppedJobs + [ofParkedJobs, ofRejectedJobs].compactMap { $0 }
    }

    private var ofProject: AttentionCondition? {
        let condition = condition
        func attention(_ remedy: String, _ page: String) -> AttentionCondition {
            AttentionCondition(
                kind: condition.word,
                text: condition.reason ?? condition.word,
                remedy: remedy,
                page: page,
                sinceMs: condition.sinceMs
            )
        }
        switch condition.word {
        case "unreadable": return attention("Correct the key: workers continue at once.", "FanfareFleetStale")
        case "blocked": return attention("Correct the cause, then resume the project.", "FanfareProjectBlocked")
        case "unreachable":
            return attention("Check the network and the endpoint: it continues by itself.", "FanfareProjectUnreachable")
        case "backpressure": return attention(Self.remedy(ofPressure: overview.pressure), "FanfarePressure")
        case "held": return attention("It continues by itself.", "FanfareQuotaRefused")
        case "unserved":
            var found = attention("Start a worker that serves it, or correct the id.", "FanfareNoWorkers")
            found.count = overview.entries + overview.open
            found.text = "\(Self.jobs(found.count, "waits", "wait")), and no worker serves the project"
            found.many = "wait in projects that no worker serves"
            return found
        case "working" where !overview.unreachable.isEmpty:
            var found = attention("Check that worker's network, or stop it.", "FanfareProjectUnreachable")
            (found.kind, found.text) = ("unreachable", overview.unreachable)
            return found
        default: return nil
        }
    }

    private static func remedy(ofPressure pressure: String) -> String {
        switch pressure {
        case "memory": "Raise maxmemory, or read and acknowledge the results."
        case "eviction": "Set maxmemory-policy to noeviction."
        default: "Let its readers catch up, or delete abandoned groups."
        }
    }

    private var ofStoppedJobs: [AttentionCondition] {
        let waiting = stopped.filter(\.needsOperator)
        var found = waiting.prefix(Self.listed).map { job in
            AttentionCondition(
                kind: job.stoppedBy == .canary ? "canary" : "stopped",
                text: job.text,
                remedy: "Look at its errors, then resume or cancel it.",
                page: "FanfareJobStopped",
                count: 1,
                job: job.status.id,
                sinceMs: job.stoppedMs
            )
        }
        guard !found.isEmpty else { return [] }
        let resting = overview.resting
        let continuing = Int64(stopped.count { !$0.needsOperator })
        func more(_ count: Int64, _ kind: String, _ one: String, _ many: String) -> AttentionCondition? {
            let rest = count - Int64(found.count { $0.kind == kind })
            guard rest > 0 else { return nil }
            return AttentionCondition(
                kind: kind,
                text: rest == 1 ? "1 more job \(one)" : "\(StoppedJob.grouped(rest)) more jobs \(many)",
                remedy: "Look at \(rest == 1 ? "its" : "their") errors, then resume or cancel.",
                page: "FanfareJobStopped",
                count: rest
            )
        }
        found += [
            more(resting.stopped, "stopped", "is stopped", "are stopped"),
            more(resting.atCanary - continuing, "canary", "has finished its canary", "have finished their canaries"),
        ].compactMap { $0 }
        return found
    }

    private var ofParkedJobs: AttentionCondition? {
        guard overview.parked > 0 else { return nil }
        let more = overview.parked - 1
        var text = Self.jobs(overview.parked, "is parked", "are parked")
        if let first = parked.first?.status {
            let left = StoppedJob.grouped(max(0, first.total - first.finished))
            text = "\(first.id) is parked\(first.reason.map { ": \($0)" } ?? ""), \(left) wait"
            if more > 0 { text += "; \(StoppedJob.grouped(more)) more \(more == 1 ? "is" : "are") parked" }
        }
        return AttentionCondition(
            kind: "parked",
            text: text,
            remedy: "Replay or drop \(more > 0 ? "them" : "it").",
            page: "FanfareJobsParked",
            count: overview.parked,
            many: "are parked"
        )
    }

    /// Entries of `dead` that are not of parked jobs.
    private var ofRejectedJobs: AttentionCondition? {
        let count = dead - overview.parked
        guard count > 0 else { return nil }
        var text = Self.jobs(count, "is rejected", "are rejected")
        if let newest = rejected {
            text = "\(newest.job) is rejected: \(newest.reason)"
            let more = count - 1
            if more > 0 { text += "; and \(StoppedJob.grouped(more)) more" }
        }
        return AttentionCondition(
            kind: "rejected",
            text: text,
            remedy: count == 1 ? "Correct and push it again, or drop it." : "Correct and push or drop them.",
            page: "FanfareJobsRejected",
            count: count,
            many: "are rejected",
            job: rejected?.job,
            entry: rejected?.entry,
            sinceMs: count == 1 ? rejected?.atMs : nil
        )
    }

    /// Whether one of its listed jobs was stopped and waits for an operator.
    public var hasStoppedJob: Bool { stopped.contains(where: \.needsOperator) }

    private static func jobs(_ count: Int64, _ one: String, _ many: String) -> String {
        "\(StoppedJob.grouped(count)) \(count == 1 ? "job \(one)" : "jobs \(many)")"
    }
}

extension FleetSnapshot {
    /// Said first of all: no worker lives, so nothing is sent. Nil if one does, and while no project can be read.
    public var noWorker: String? {
        guard workersAlive == 0, projects.isEmpty || projects.contains(where: { $0.fault == nil }) else { return nil }
        let jobs = projects.reduce(0) { $0 + $1.overview.entries + $1.overview.open }
        let waiting = jobs == 0 ? "" : jobs == 1 ? " 1 job waits." : " \(StoppedJob.grouped(jobs)) jobs wait."
        return "No worker is alive: nothing is sent.\(waiting)"
    }
}
