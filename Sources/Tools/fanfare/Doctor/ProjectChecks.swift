internal import FanfareClient
internal import FanfareConfiguration
internal import StreamWire

extension Check {
    /// What stops a project, or will stop it soon.
    static let projectStates = Check.redis { facts, configuration in
        facts.projects.flatMap { project -> [Finding] in
            let name = "project \(project.id)"
            let overview = project.overview
            var findings: [Finding] = []
            if overview.isPaused {
                let remedy = "`fanfare project resume \(project.id)` continues it"
                findings.append(.warn(name, "paused: \(overview.pauseReason)", remedy))
            }
            if !overview.blockReason.isEmpty {
                let remedy = "correct the cause; `fanfare project resume \(project.id)` then retries at once"
                findings.append(.fail(name, "nothing can be sent: \(overview.blockReason)", remedy))
            }
            if overview.pressure == "results" {
                let remedy =
                    "let its readers catch up and acknowledge; delete abandoned groups with `XGROUP DESTROY`"
                findings.append(.fail(name, "takes no jobs: an outgoing stream is not read", remedy))
            }
            if let job = facts.stuck[project.id] {
                let remedy = "see the workers' logs; `fanfare job pause \(job)` lets the next fan-out start"
                findings.append(.fail(name, "its active fan-out \(job) makes no progress", remedy))
            }
            findings += dead(project) + unread(project, configuration)
            if findings.isEmpty { findings.append(.ok(name, summary(project))) }
            return findings
        }
    }

    private static func summary(_ project: ProjectSnapshot) -> String {
        let waiting = project.recipientsWaiting
        return "\(project.condition.word)" + (waiting > 0 ? ", \(waiting) recipients wait" : "")
    }

    private static func dead(_ project: ProjectSnapshot) -> [Finding] {
        let name = "project \(project.id)"
        let rejected = project.dead - project.overview.parked
        var findings: [Finding] = []
        if project.overview.parked > 0 {
            let remedy = "`fanfare dead ls --kind parked --project \(project.id)`"
            findings.append(.warn(name, "\(project.overview.parked) parked jobs need an operator", remedy))
        }
        if rejected > 0 {
            let remedy = "`fanfare dead ls --kind rejected --project \(project.id)` shows why; replay or drop them"
            findings.append(.warn(name, "\(rejected) rejected jobs are kept in `dead`", remedy))
        }
        return findings
    }

    private static func unread(_ project: ProjectSnapshot, _ configuration: Configuration) -> [Finding] {
        guard let unread = project.unreadResults, unread * 10 >= Int64(configuration.backlogLimit) * 7,
            project.overview.pressure != "results"
        else { return [] }
        let text =
            "\(unread) results entries are not acknowledged; workers stop at \(configuration.backlogLimit)"
        return [.warn("project \(project.id)", text, "let its readers catch up, or raise backlog_limit")]
    }

    /// Whether each project has a worker, and whether all workers have one version.
    static let workers = Check.redis { facts, configuration in
        let name = "workers"
        guard !configuration.projects.isEmpty, !facts.projects.isEmpty else { return [] }
        let fleet = FleetSnapshot(projects: facts.projects)
        var findings: [Finding] = []
        for project in fleet.projects where project.workersAlive == 0 {
            let jobs = project.overview.entries + project.overview.open
            let remedy = "start `fanfare worker` with this configuration"
            findings.append(
                jobs > 0
                    ? .fail(name, "none for project \(project.id), and \(jobs) jobs wait", remedy)
                    : .warn(name, "none for project \(project.id)", remedy)
            )
        }
        let alive = fleet.workers.filter(\.isAlive)
        let versions = Set(alive.map { $0.card?.version ?? "an older version" }).sorted()
        if versions.count > 1 {
            let text = "\(alive.count) alive, of different versions: \(versions.joined(separator: ", "))"
            findings.append(.warn(name, text, "expected during an upgrade; replace the older ones to finish it"))
        } else if findings.isEmpty {
            findings.append(.ok(name, "\(alive.count) alive" + (versions.first.map { ", version \($0)" } ?? "")))
        }
        return findings
    }

    /// The configured quotas, compared with FCM's default and with the workers' quotas.
    static let quotas = Check { subject in
        subject.configuration.projects.flatMap { project -> [Finding] in
            let name = "quota of \(project.id)"
            let quota = project.quotaPerMinute
            var findings: [Finding] = []
            if quota > 600_000 {
                let remedy = "make sure that Google raised the project's quota; the default is 600000"
                findings.append(.warn(name, "\(quota) messages a minute, more than FCM's default", remedy))
            } else if quota < 60 {
                let remedy = "set quota_per_minute; FCM's default is 600000"
                findings.append(.warn(name, "\(quota) messages a minute: less than one a second", remedy))
            }
            let used = subject.redis?.projects.first { $0.id == project.id }?.overview.quotaPerMinute ?? 0
            if used > 0, used != Int64(quota) {
                let remedy = "restart the workers that have an older configuration"
                findings.append(.warn(name, "the workers use \(used), this configuration says \(quota)", remedy))
            }
            if project.activeFanouts > 1 {
                let text = "active_fanouts \(project.activeFanouts): each takes as many times longer"
                findings.append(.warn(name, text, "leave active_fanouts at 1"))
            }
            return findings.isEmpty ? [.ok(name, "\(quota) messages a minute")] : findings
        }
    }
}
