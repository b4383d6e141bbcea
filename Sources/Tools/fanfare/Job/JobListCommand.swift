internal import ArgumentParser
internal import FanfareClient
internal import RedisTransport

struct JobListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ls",
        abstract: "Lists a project's jobs.",
        discussion: """
            The order is: active fan-outs, waiting fan-outs in the order of the queue, parked jobs, all other jobs. Jobs that \
            no worker has taken yet are not listed. `sent` means accepted by FCM.

            Examples:
              fanfare job ls --project demo
              fanfare job ls --project demo --state parked
              fanfare job ls --project demo --all --limit 1000 --json | jq -r 'select(.failed > 0).id'
            """
    )

    @Option(
        help: .value("state", "Only jobs in this state: \(Self.states.list.joined(separator: ", "))."),
        completion: Self.states.completion,
        transform: Self.states.value
    )
    var state: JobStatus.State?

    @Option(help: .value("n", "Maximum number of jobs."))
    var limit = 100

    @Flag(help: "Also jobs that are over and still kept; scans every key in Redis.")
    var all = false

    @OptionGroup var listing: ListingOptions

    func validate() throws {
        if !(1...1_000_000).contains(limit) { throw ValidationError("--limit: 1 to 1000000") }
    }

    func run() async throws {
        try await listing.connect { session in
            let list = try await session.projectOperator.jobs(state: state, includingOver: all, limit: limit)
            let now = try await session.client.nowMs()
            let jobs = list.jobs.map { JobProgress(status: $0, nowMs: now) }
            if listing.json {
                for job in jobs { Console.json(JobRendering.json(job, session.project)) }
            } else if jobs.isEmpty {
                let hint = all || state != nil ? "" : "; --all also lists jobs that are over"
                Console.error("no matching jobs in project \(session.project)\(hint)")
            } else {
                Console.line(Self.table(jobs))
            }
            if !list.isWhole { Console.error("only \(limit) jobs are shown; --limit shows more") }
        }
    }

    static func table(_ jobs: [JobProgress]) -> String {
        var table = TextTable(
            ["job", "state", "total", "finished", "failed", "rate", "left", "created"],
            numeric: [2, 3, 4, 5, 6]
        )
        for job in jobs {
            let status = job.status
            table.add([
                status.id, status.state.rawValue, "\(status.total)", "\(status.finished)", "\(status.failed)",
                job.resultsPerSecond.map(PaceText.rate) ?? "-", job.remainingSeconds.map(PaceText.duration) ?? "-",
                status.createdMs.map(JobRendering.timestamp) ?? "-",
            ])
        }
        return table.lines.joined(separator: "\n")
    }

    private static let states = Words(list: [
        "scheduled", "waiting", "active", "retrying", "paused", "parked", "done", "cancelled", "expired", "rejected",
    ])
}
