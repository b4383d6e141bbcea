internal import FanfareClient
internal import StreamWire

/// The tables of the screen.
extension TopScreen {
    /// States of a project, the most urgent first.
    private static let urgency = [
        "unreadable", "blocked", "unreachable", "unserved", "backpressure", "held", "paused", "waiting", "working",
        "idle",
    ]

    /// Whether a project's state needs attention.
    static func needsAttention(_ word: String) -> Bool { !["working", "waiting", "idle"].contains(word) }

    private static func urgency(_ project: ProjectSnapshot) -> Int {
        let place = urgency.firstIndex(of: project.condition.word) ?? 0
        return project.hasStoppedJob ? min(place, urgency.count - 4) : place
    }

    /// Projects in the chosen order, equal ones by name.
    var sorted: [ProjectSnapshot] {
        let keyed = snapshot.projects.map { project -> (ProjectSnapshot, Int, Double) in
            let waiting = Double(project.recipientsAwaitingSend + project.overview.entries)
            switch state.sort {
            case .state: return (project, Self.urgency(project), -waiting)
            case .waiting: return (project, 0, -waiting)
            case .rate: return (project, 0, -(meter.rates(of: project.id)?.sent ?? 0))
            case .name: return (project, 0, 0)
            }
        }
        return keyed.sorted { ($0.1, $0.2, $0.0.id) < ($1.1, $1.2, $1.0.id) }.map(\.0)
    }

    /// The estimate until nothing waits; nil if nothing waits or nothing is known.
    func emptyIn(_ project: ProjectSnapshot) -> String? {
        guard project.recipientsAwaitingSend + project.overview.entries > 0 else { return nil }
        return meter.drainSeconds(of: project).map(PaceText.duration)
    }

    /// The chosen order without the projects that are folded into one line: idle projects without a dead job.
    private var unfolded: (shown: [ProjectSnapshot], folded: Int) {
        let all = sorted
        guard !state.showsIdle else { return (all, 0) }
        let shown = all.filter { $0.condition.word != "idle" || $0.dead > 0 }
        return all.count - shown.count < EqualCauses.fewest ? (all, 0) : (shown, all.count - shown.count)
    }

    var projects: Section {
        let (projects, folded) = unfolded
        let hasReason = projects.contains { $0.condition.reason?.isEmpty == false }
        let hasPushed = projects.contains { $0.overview.entries > 0 }
        var table = TextTable(
            columns: [
                .text("PROJECT", cut: .middle, least: 10), .text("STATE", rank: 1), .number("WAITING", rank: 2),
                .number("PUSHED", rank: hasPushed ? 6 : 11), .number("SENT/S", rank: 3), .number("QUOTA/S", rank: 8),
                .number("FAILED/S", rank: 9), .number("RETRIES/S", rank: 13), .number("EMPTY IN", rank: 5),
                .number("OLDEST", rank: 10), .number("FLIGHT", rank: 12), .number("QUEUED", rank: 14),
                .number("DEAD", rank: 7), .number("PERMITS/S", rank: 15), .number("UNREAD", rank: 16),
                .text("REASON", rank: hasReason ? 4 : 17, cut: .end, least: 20),
            ]
        )
        for project in projects {
            let rates = meter.rates(of: project.id)
            let overview = project.overview
            func pace(_ value: Double?) -> String { value.flatMap { $0 < 0 ? nil : PaceText.number($0) } ?? "-" }
            let quota = overview.quotaPerMinute > 0 ? Double(overview.quotaPerMinute) / 60 : nil
            let permits = overview.permitsPerSecond > 0 ? overview.permitsPerSecond : nil
            let oldest = project.oldestWaitMs > 0 ? PaceText.duration(Double(project.oldestWaitMs) / 1_000) : "-"
            var row = [project.id, project.condition.word, "\(project.recipientsAwaitingSend)", "\(overview.entries)"]
            row += [pace(rates?.sent), pace(quota), pace(rates.map { $0.failed + $0.unknown }), pace(rates?.retries)]
            row += [emptyIn(project) ?? "-", oldest, "\(project.inFlight)", "\(overview.waitingFanouts)"]
            row += ["\(project.dead)", pace(permits), project.unreadResults.map { "\($0)" } ?? "-"]
            row.append(project.condition.reason ?? "")
            table.add(row)
        }
        var warnings = projects.map { Self.needsAttention($0.condition.word) || $0.hasStoppedJob }
        if folded > 0 {
            table.add(["\(folded) projects", "idle"] + [String](repeating: "", count: 14))
            warnings.append(false)
        }
        return Section(
            table: table,
            warnings: warnings,
            rows: projects.map { .project($0.id) },
            rank: 0
        )
    }

    var jobs: Section { jobs(of: sorted, withProject: true) }

    func jobs(of project: ProjectSnapshot) -> Section { jobs(of: [project], withProject: false) }

    private func jobs(of projects: [ProjectSnapshot], withProject: Bool) -> Section {
        let all = projects.flatMap { project in
            (project.holding + project.queued + project.parked + project.others).map { (project, $0) }
        }
        let guards = all.map { GuardText.short($1.status) }
        let hasGuards = guards.contains { !$0.isEmpty }
        let reasons = all.map { Self.reason($1, $0) }
        let hasReason = reasons.contains { !$0.isEmpty }
        let place: [TextTable.Column] = withProject ? [.text("PROJECT", rank: 6, cut: .middle, least: 7)] : []
        var table = TextTable(
            columns: [.text("JOB", cut: .middle, least: 16)] + place + [
                .text("STATE", rank: 1, cut: .end, least: 12), .text("", rank: 10), .number("DONE", rank: 2),
                .number("TOTAL", rank: 3), .number("FAILED", rank: 7),
                .number("RETRYING", rank: 9), .number("RATE/S", rank: 5), .number("LEFT", rank: 4),
                .text("REASON", rank: hasReason ? 4 : 8, cut: .end, least: hasReason ? 20 : 12),
            ] + (hasGuards ? [.text("GUARDS", rank: 11, cut: .end, least: 12)] : [])
        )
        for (index, (project, job)) in all.enumerated() {
            let status = job.status
            var row = [status.id] + (withProject ? [project.id] : [])
            row += [
                status.state.rawValue, ProgressLine.bar(status, width: 12), "\(status.finished)", "\(status.total)",
            ]
            row += ["\(status.failed)", "\(status.retrying)"]
            let progress = project.progress(of: job)
            row.append(progress.resultsPerSecond.map(PaceText.number) ?? "-")
            row.append(progress.remainingSeconds.map(PaceText.duration) ?? "-")
            row.append(reasons[index])
            if hasGuards { row.append(guards[index]) }
            table.add(row)
        }
        return Section(
            table: table,
            warnings: all.map { [.parked, .paused].contains($1.status.state) },
            rows: all.map { .job($1.status.id, project: $0.id) },
            rank: 1
        )
    }

    /// Why a job does not continue as usual; empty if it does.
    private static func reason(_ job: FleetJob, _ project: ProjectSnapshot) -> String {
        if let ending = job.ending { return "ending: \(ending)" }
        if let reason = job.status.reason { return StoppedJob.figure(reason) ?? reason }
        let condition = project.condition
        return needsAttention(condition.word) ? "project \(condition.word)" : ""
    }

    /// Results without success of the opened project.
    var failed: Section {
        var table = TextTable(columns: [.text("FAILED WITH", cut: .end, least: 12), .number("LAST HOUR", rank: 1)])
        for failure in failures { table.add([failure.error, "\(failure.count)"]) }
        return Section(table: table, warnings: failures.map { _ in false }, rank: 3)
    }

    var workers: Section { workers(snapshot.workers) }

    func workers(of project: String) -> Section {
        workers(snapshot.workers.filter { worker in worker.projects.contains { $0.id == project } })
    }

    private func workers(_ workers: [WorkerSnapshot]) -> Section {
        var table = TextTable(
            columns: [
                .text("WORKER", cut: .middle, least: 10), .text("STATE", rank: 1),
                .text("VERSION", rank: 3, cut: .end, least: 8), .text("HOST", rank: 5, cut: .middle, least: 8),
                .number("PID", rank: 6), .number("FLIGHT", rank: 2), .number("BATCHES", rank: 7),
                .number("UP", rank: 4),
                .number("PROJECTS", rank: 8),
            ]
        )
        for worker in workers {
            let upMs = worker.card.map { max(0, snapshot.nowMs - $0.startedMs) }
            table.add([
                worker.name, worker.isAlive ? "alive" : "silent", worker.card?.version ?? "-",
                worker.card?.host ?? "-", worker.card.map { "\($0.pid)" } ?? "-", "\(worker.inFlight)",
                "\(worker.batches)", upMs.map { PaceText.duration(Double($0) / 1_000) } ?? "-",
                "\(worker.projects.count)",
            ])
        }
        return Section(table: table, warnings: workers.map { !$0.isAlive }, rank: 2)
    }
}
