internal import FanfareClient
internal import FanfareConfiguration
internal import StreamWire

extension Check {
    /// Conditions that stop a project or will stop it soon.
    static let projectStates = Check.redis("project") { facts, configuration, report in
        for project in facts.projects {
            let id = project.id
            let overview = project.overview
            report.check = "project \(id)"
            if let fault = project.fault {
                report.fail(
                    "cannot be read: \(fault)",
                    "`TYPE` shows what the key holds; workers continue at once afterwards"
                )
                continue
            }
            if overview.isPaused {
                report.warn("paused: \(overview.pauseReason)", "`fanfare project resume \(id)` continues it")
            }
            if !overview.blockReason.isEmpty {
                let remedy = "correct the cause; `fanfare project resume \(id)` then retries at once"
                report.fail("nothing can be sent: \(overview.blockReason)", remedy)
            }
            if let text = overview.pressureText {
                report.fail("takes no jobs: \(text)", remedy(ofPressure: overview.pressure))
            }
            if let job = facts.stuck[id] {
                let remedy = "see the workers' logs; `fanfare job pause \(job)` lets the next fan-out start"
                report.fail("its active fan-out \(job) makes no progress", remedy)
            }
            if overview.parked > 0 {
                let remedy = "`fanfare dead ls --kind parked --project \(id)`"
                let text = overview.parked == 1 ? "1 parked job needs" : "\(overview.parked) parked jobs need"
                report.warn("\(text) an operator", remedy)
            }
            for job in project.stopped where job.needsOperator {
                let id = job.status.id
                report.warn(job.text, "`fanfare job show \(id)` shows its errors; then `job resume` or `job cancel`")
            }
            let rejected = project.dead - overview.parked
            if rejected > 0 {
                let remedy =
                    "`fanfare dead ls --kind rejected --project \(id)` shows why; push them again corrected, then drop these"
                let text = rejected == 1 ? "1 rejected job is" : "\(rejected) rejected jobs are"
                report.warn("\(text) kept in `dead`", remedy)
            }
            let limit = configuration.backlogLimit
            if let unread = project.unreadResults, unread * 10 >= Int64(limit) * 7, overview.pressure != "results" {
                let text = "\(unread) results entries are not acknowledged; workers stop at \(limit)"
                report.warn(text, "let its readers catch up, or raise backlog_limit")
            }
            if report.isEmpty { addState(of: project, to: &report) }
        }
    }

    private static func remedy(ofPressure pressure: String) -> String {
        switch pressure {
        case "memory": "raise maxmemory, or read and acknowledge the results"
        case "eviction": "`CONFIG SET maxmemory-policy noeviction`, and the same in redis.conf"
        default: "let its readers catch up and acknowledge; delete abandoned groups with `XGROUP DESTROY`"
        }
    }

    private static func addState(of project: ProjectSnapshot, to report: inout Report) {
        let condition = project.condition
        let state = condition.word + (condition.reason.map { ": \($0)" } ?? "")
        switch condition.word {
        case "unserved": break  // The check of the workers reports it.
        case "unreachable":
            let remedy = "check the network and the project's endpoint; `fanfare doctor` tries both"
            report.fail(state, remedy)
        default:
            let waiting = project.recipientsWaiting
            report.ok(
                state + (waiting > 0 ? ", \(waiting) \(waiting == 1 ? "recipient waits" : "recipients wait")" : "")
            )
        }
    }

    /// Whether each project has a worker, and whether all workers have one version.
    static let workers = Check.redis("workers") { facts, configuration, report in
        guard !configuration.projects.isEmpty, !facts.projects.isEmpty else { return }
        let fleet = FleetSnapshot(projects: facts.projects)
        for project in fleet.projects where project.workersAlive == 0 && project.fault == nil {
            let jobs = project.overview.entries + project.overview.open
            let remedy = "start `fanfare worker` with this configuration"
            if jobs > 0 {
                let waiting = jobs == 1 ? "1 job waits" : "\(jobs) jobs wait"
                report.fail("project \(project.id) is unserved: no worker is alive, and \(waiting)", remedy)
            } else {
                report.warn("none is alive for project \(project.id), where no job waits", remedy)
            }
        }
        let alive = fleet.workers.filter(\.isAlive)
        // A worker writes its version with the first renewal of its lease, two seconds after its start.
        let renewed = alive.filter { $0.silentMs != nil }
        let versions = Set(renewed.map { $0.card?.version ?? "an older version" }).sorted()
        if versions.count > 1 {
            let text = "\(alive.count) alive, of different versions: \(versions.joined(separator: ", "))"
            report.warn(text, "expected during an upgrade; replace the older ones to finish it")
        } else if report.isEmpty {
            let version = versions.first.map { ", version \($0)" } ?? ""
            let new = alive.count - renewed.count
            let started = new == 0 ? "" : new == alive.count ? ", just started" : ", \(new) just started"
            report.ok("\(alive.count) alive\(version)\(started)")
        }
    }

    /// The configured quotas, compared with FCM's default and with the workers' quotas.
    static let quotas = Check("quota") { subject, report in
        for project in subject.configuration.projects {
            report.check = "quota of \(project.id)"
            let quota = project.quotaPerMinute
            if quota > 600_000 {
                let remedy = "make sure that Google raised the project's quota; the default is 600000"
                report.warn("\(quota) messages a minute, more than FCM's default", remedy)
            } else if quota < 60 {
                let remedy = "set quota_per_minute; FCM's default is 600000"
                report.warn("\(quota) messages a minute: less than one a second", remedy)
            }
            let used = subject.redis?.projects.first { $0.id == project.id }?.overview.quotaPerMinute ?? 0
            if used > 0, used != Int64(quota) {
                let remedy = "restart the workers that have an older configuration"
                report.warn("the workers use \(used), this configuration says \(quota)", remedy)
            }
            if project.activeFanouts > 1 {
                let text = "active_fanouts \(project.activeFanouts): each takes as many times longer"
                report.warn(text, "leave active_fanouts at 1")
            }
            if report.isEmpty { report.ok("\(quota) messages a minute") }
        }
    }

    /// Jobs of projects without a worker. The usual cause is a producer that misspells the project.
    static let unknownProjects = Check.redis("project") { facts, configuration, report in
        for (id, jobs) in facts.unknownProjects {
            report.check = "project \(id)"
            let stream = ProjectKeys(prefix: configuration.prefix, project: id).jobs
            report.warn(
                "unserved: \(jobs == 1 ? "1 job waits" : "\(jobs) jobs wait"), and this configuration does not name it",
                "name it under projects and start a worker; if it is misspelt, push to the right one and DEL \(stream)"
            )
        }
    }
}
