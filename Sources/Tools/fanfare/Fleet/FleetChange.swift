internal import ArgumentParser
internal import FanfareClient
internal import FanfareConfiguration
internal import FanfareModel
internal import FanfareRedis
internal import StreamWire

/// A change of many jobs: it lists them, asks, changes each and reports failures.
struct FleetChange: ParsableArguments {
    @Flag(help: "Required: the command has no other form.")
    var all = false

    @Option(help: .value("id", "Only jobs of this project. Default: all projects."), completion: Completion.projects)
    var project: String?

    @Flag(help: "List the jobs, and change nothing.")
    var dryRun = false

    @Flag(help: "Do not ask for confirmation.")
    var yes = false

    @Option(help: .value("text", "Why; kept with your name in the audit list of each project."))
    var reason = ""

    @OptionGroup var options: ConfigurationOptions

    @Flag(help: "Print one JSON object per job.")
    var json = false

    /// Jobs that the listing names before the question.
    private static var listed: Int { 20 }

    func validate() throws {
        guard !Fanfare.skipsValidation else { return }
        guard all else {
            throw ValidationError("give --all; `fanfare job` changes one job, `fanfare project` one project")
        }
        if let project, !ProjectID.isValid(project) {
            throw ValidationError("--project must match \(ProjectID.pattern)")
        }
        guard yes || dryRun || Console.canPrompt else {
            throw ValidationError("there is no terminal to confirm it; give --yes, or --dry-run to list the jobs")
        }
    }

    /// The reason of a pause of all jobs.
    static func pauseReason(_ reason: String) -> String { reason.isEmpty ? "pause --all" : "pause --all: \(reason)" }

    /// Whether `fanfare pause --all` paused a job, and no guard stopped it since.
    /// - Parameter scope: nil for a job that a version without scopes paused: its reason decides.
    static func wasPausedWithAll(_ job: JobStatus, scope: PauseScope?) -> Bool {
        guard job.isPausedByOperator else { return false }
        if let scope { return scope == .all }
        let own = "paused by an operator: \(pauseReason(""))"
        return job.reason == own || job.reason?.hasPrefix(own + ": ") == true
    }

    /// - Parameter fits: leaves out other jobs in these states.
    func run(
        _ action: JobAction,
        _ states: Set<JobStatus.State>,
        reason: String,
        fits: (ProjectSession, JobStatus) async throws -> Bool = { _, _ in true }
    ) async throws {
        let configuration = try options.load()
        try await RedisSession.run(configuration) { client in
            let names = try await projects(client, configuration)
            let jobs = FleetJobs(redis: client, prefix: configuration.prefix, perProject: .max, readsPerProject: .max)
            var rows: [FleetJobs<RedisClient>.Row] = []
            var after: String?
            repeat {
                let page = try await jobs.page(JobFilter(states: states), projects: names, after: after)
                for row in page.rows {
                    let session = ProjectOption.session(client, row.project, configuration)
                    if try await fits(session, row.progress.status) { rows.append(row) }
                }
                after = page.next
            } while after != nil
            list(rows)
            if action == .pause { try await reportUntaken(names, client, configuration) }
            guard !rows.isEmpty, !dryRun else { return }
            if !yes, !Console.confirm(Self.question(action, rows)) {
                throw Outcome.failed.because("nothing was changed")
            }
            try await apply(action, to: rows, client, configuration, reason)
        }
    }

    private func projects(_ client: RedisClient, _ configuration: Configuration) async throws -> [String] {
        let known = try await FleetProjects.read(client, configuration)
        guard let project else { return known }
        guard known.contains(project) else {
            let names = known.isEmpty ? "" : "; known projects: \(known.prefix(10).joined(separator: ", "))"
            throw Outcome.usage.because("there is no project \(project)\(names)")
        }
        return [project]
    }

    private func list(_ rows: [FleetJobs<RedisClient>.Row]) {
        guard !rows.isEmpty else {
            Console.error("no matching jobs in \(project.map { "project \($0)" } ?? "any project")")
            return
        }
        if json {
            for row in rows where dryRun { Console.json(FleetJSON.object(row.progress, in: row.project)) }
            return
        }
        let shown = dryRun ? rows[...] : rows.prefix(Self.listed)
        Console.line(JobListCommand.table(shown.map { ($0.project, $0.progress) }, withProject: true))
        if rows.count > shown.count { Console.line("and \(rows.count - shown.count) more; --dry-run lists all") }
    }

    private func reportUntaken(_ names: [String], _ client: RedisClient, _ configuration: Configuration) async throws {
        for name in names {
            let session = ProjectOption.session(client, name, configuration)
            guard let untaken = try await UntakenJobs.read(session) else { continue }
            Console.error("\(untaken.notice): not paused; `fanfare project pause \(name)` holds them, too")
        }
    }

    static func question(_ action: JobAction, _ rows: [FleetJobs<RedisClient>.Row]) -> String {
        let projects = Set(rows.map(\.project))
        let jobs = rows.count == 1 ? "1 job" : "\(rows.count) jobs"
        let place = projects.count == 1 ? "project \(rows[0].project)" : "\(projects.count) projects"
        return "\(action == .pause ? "Pause" : "Resume") \(jobs) of \(place)? [y/N] "
    }

    private func apply(
        _ action: JobAction,
        to rows: [FleetJobs<RedisClient>.Row],
        _ client: RedisClient,
        _ configuration: Configuration,
        _ reason: String
    ) async throws {
        Console.outliveReaders()
        var done = 0
        var failed = 0
        for row in rows {
            let id = row.progress.status.id
            let target = ProjectOption.session(client, row.project, configuration).projectOperator
            let reply = try await action.send(target, id, reason: reason, scope: .all)
            if json { Console.json(JobAction.outcome(id, reply, row.project)) }
            switch reply {
            case .ok: done += 1
            // It ended between the listing and the change.
            case .over(let state): Console.error("\(row.project): job \(id): \(JobAction.over(state))")
            case .missing, .parked:
                failed += 1
                let why = reply == .parked ? "it is parked" : "it is not there"
                Console.error("fanfare: \(row.project): job \(id): not \(action.past), \(why)")
            }
        }
        if !json { Console.line("\(done == 1 ? "1 job" : "\(done) jobs") \(action.past)") }
        if failed > 0 { throw ExitCode.failure }
    }
}
