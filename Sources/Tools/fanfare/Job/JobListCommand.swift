internal import ArgumentParser
internal import FanfareClient
internal import FanfareConfiguration
internal import FanfareModel
internal import FanfareRedis
internal import Glibc

struct JobListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ls",
        abstract: "Lists the jobs of a project or of all projects.",
        discussion: """
            The order is: active fan-outs, waiting fan-outs in the order of the queue, parked jobs, all other jobs. Jobs that \
            no worker has taken yet are counted, not listed. `sent` means accepted by FCM. The reason says why a job is paused, or \
            waits for its hours or its start. The column maybe_dup appears where recipients may have got a message twice.

            Examples:
              fanfare job ls
              fanfare job ls --all-projects --sort failed
              fanfare job ls --match newsletter --all
              fanfare job ls --project demo --state parked
              fanfare job ls --project demo --all --limit 1000 --json \\
                | jq -r 'select(.failed > 0).id'
            """,
        aliases: ["list"]
    )

    @Option(
        help: .value("state", "Only jobs in this state: \(Self.states.list.joined(separator: ", "))."),
        completion: Self.states.completion,
        transform: Self.states.value
    )
    var state: JobStatus.State?

    @Option(help: .value("n", "Maximum number of jobs."))
    var limit = 100

    @Flag(help: "Also the last 1,000 jobs that are over, have an id or more than one recipient, and are still kept.")
    var all = false

    @Option(help: .value("id", "Only this project. Default: all projects."), completion: Completion.projects)
    var project: String?

    @Flag(help: "All projects, as without --project.")
    var allProjects = false

    @Option(help: .value("text", "Only jobs whose id contains this text."))
    var match = ""

    @Option(
        help: .value("column", "Sort the listed jobs: \(Self.orders.list.joined(separator: ", "))."),
        completion: Self.orders.completion,
        transform: Self.orders.value
    )
    var sort: JobOrder?

    @OptionGroup var options: ConfigurationOptions

    @Flag(help: "Print one JSON object per line.")
    var json = false

    func validate() throws {
        if project != nil, allProjects { throw ValidationError("give --project or --all-projects, not both") }
        if !(1...1_000_000).contains(limit) { throw ValidationError("--limit: 1 to 1000000") }
        if let project, !ProjectID.isValid(project) {
            throw ValidationError("--project must match \(ProjectID.pattern)")
        }
    }

    func run() async throws {
        let configuration = try options.load()
        try await RedisSession.run(configuration) { client in
            let names = if let project { [project] } else { try await FleetProjects.read(client, configuration) }
            let now = try await client.nowMs()
            var rows: [(String, JobProgress)] = []
            var untaken: [UntakenJobs] = []
            var isWhole = true
            for name in names {
                let session = ProjectSession(client: client, project: name, prefix: configuration.prefix)
                if let found = try await UntakenJobs.read(session) { untaken.append(found) }
                let most = max(1, limit - rows.count)
                let filter = JobFilter(states: state.map { [$0] }, text: match, includesOver: all)
                let list = try await session.projectOperator.jobs(filter, limit: most)
                if rows.count == limit {
                    isWhole = isWhole && list.jobs.isEmpty
                } else {
                    isWhole = isWhole && list.isWhole
                    // Optional: a producer's user may not read it.
                    let state = try? await session.projectOperator.overview()
                    rows += list.jobs.map { (name, JobProgress(status: $0, nowMs: now, project: state)) }
                }
            }
            print(sort.map { $0.sorted(rows) } ?? rows)
            for found in untaken { Console.error(found.notice) }
            if !isWhole { Console.error("only \(limit) jobs are shown; --limit shows more") }
        }
    }

    private func print(_ rows: [(String, JobProgress)]) {
        if json {
            for (name, job) in rows { Console.json(FleetJSON.object(job, in: name)) }
        } else if rows.isEmpty {
            let hint = all || state != nil ? "" : "; --all also lists jobs that are over"
            Console.error("no matching jobs in \(project.map { "project \($0)" } ?? "any project")\(hint)")
        } else {
            let width = isatty(STDOUT_FILENO) == 1 ? TerminalScreen.size.columns : nil
            Console.line(Self.table(rows, withProject: project == nil, width: width))
        }
    }

    /// - Parameter width: leaves out columns to fit; nil shows everything.
    static func table(_ rows: [(String, JobProgress)], withProject: Bool, width: Int? = nil) -> String {
        var columns: [TextTable.Column] = [
            .text("job", rank: withProject ? 1 : 0, cut: .middle, least: 24),
            .text("state", rank: 2), .number("total", rank: 4), .number("finished", rank: 3),
            .number("failed", rank: 5), .number("rate", rank: 6), .number("left", rank: 7),
            .text("pushed", rank: 8), .text("guards", rank: 10, cut: .end),
            .text("reason", rank: 9, cut: .end, least: 12),
        ]
        let hasDuplicates = rows.contains { $1.status.maybeDup > 0 }
        if hasDuplicates { columns.insert(.number("maybe_dup", rank: 5), at: 5) }
        if withProject { columns.insert(.text("project"), at: 0) }
        var table = TextTable(columns: columns)
        for (name, job) in rows {
            let status = job.status
            var row = (withProject ? [name] : []) + [status.id]
            row += [status.state.rawValue, "\(status.total)", "\(status.finished)", "\(status.failed)"]
            if hasDuplicates { row.append("\(status.maybeDup)") }
            row += [
                job.resultsPerSecond.map(PaceText.rate) ?? "-", job.remainingSeconds.map(PaceText.duration) ?? "-",
            ]
            row.append(status.createdMs.map(JobRendering.timestamp) ?? "-")
            let guards = GuardText.short(status)
            let start = job.startTime.map { "starts at \($0)" }
            row += [guards.isEmpty ? "-" : guards, status.isOver ? "-" : status.reason ?? start ?? "-"]
            table.add(row)
        }
        return table.lines(width: width).joined(separator: "\n")
    }

    private static let orders = Words(list: JobOrder.allCases.map(\.rawValue))

    private static let states = Words(list: [
        "scheduled", "waiting", "active", "retrying", "paused", "parked", "done", "cancelled", "expired", "rejected",
    ])
}
