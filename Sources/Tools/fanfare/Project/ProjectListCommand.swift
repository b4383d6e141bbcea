internal import ArgumentParser
internal import FanfareClient
internal import FanfareConfiguration
internal import FanfareJSON
internal import Glibc
internal import StreamWire

struct ProjectListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ls",
        abstract: "Lists the projects and their state.",
        discussion: """
            Lists projects of the configuration, and projects that a worker or the command line has registered. `sent/s` is the \
            rate of the last ten seconds; `waiting` counts recipients without a result, `pushed` the jobs that no worker has \
            taken.

            Example:
              fanfare project ls --redis redis://127.0.0.1:6379/0
            """,
        aliases: ["list"]
    )

    @OptionGroup var options: ConfigurationOptions

    @Flag(help: "Print one JSON object per line.")
    var json = false

    func run() async throws {
        let configuration = try options.load()
        try await RedisSession.run(configuration) { client in
            let reader = FleetReader(
                redis: client,
                prefix: configuration.prefix,
                projects: configuration.projects.map(\.id),
                jobs: 3
            )
            var rows: [Row] = []
            let fleet = try await reader.read()
            for project in fleet.projects {
                let session = ProjectSession(client: client, project: project.id, prefix: configuration.prefix)
                // Optional: an older ACL user may not read the history.
                let history = try? await session.projectOperator.history(spanMs: 60_000)
                rows.append(Row(project: project, sentPerSecond: history.flatMap(Row.rate)))
            }
            if json {
                for row in rows { Console.json(row.json) }
            } else if rows.isEmpty {
                Console.error("no project is configured or registered yet")
            } else {
                let width = isatty(STDOUT_FILENO) == 1 ? TerminalScreen.size.columns : nil
                if let noWorker = fleet.noWorker { Console.error("\(noWorker) Start `fanfare worker`.") }
                Console.line(Self.table(rows, width: width))
                for line in Self.jobsNeedingAttention(fleet) { Console.error(line) }
            }
        }
    }

    struct Row {
        var project: ProjectSnapshot
        /// Results accepted by FCM over the last whole step of the history; nil if unknown.
        var sentPerSecond: Double?

        static func rate(_ history: ProjectHistory) -> Double? {
            let lastStartMs = history.nowMs - history.stepMs
            guard let whole = history.samples.last(where: { $0.atMs <= lastStartMs }) else { return nil }
            return Double(whole.sent) * 1_000 / Double(max(1, history.stepMs))
        }
    }

    /// - Parameter width: leaves out columns and shortens reasons to fit; nil shows everything.
    static func table(_ rows: [Row], width: Int? = nil) -> String {
        var table = TextTable(
            columns: [
                .text("project", cut: .middle, least: 20), .text("state"), .text("since", rank: 4),
                .number("sent/s", rank: 2), .number("quota/s", rank: 3), .number("waiting", rank: 1),
                .number("pushed", rank: 6), .number("jobs", rank: 7), .number("queued", rank: 10),
                .number("parked", rank: 8), .number("dead", rank: 9), .number("retrying", rank: 11),
                .number("workers", rank: 12), .text("active", rank: 13, cut: .middle, least: 12),
                .text("reason", rank: 5, cut: .end, least: 12),
            ]
        )
        for row in rows {
            let project = row.project
            let overview = project.overview
            let condition = project.condition
            let since = condition.sinceMs.map { ClockText.moment($0, nowMs: overview.nowMs) }
            var cells = [project.id, condition.word, since ?? "-"]
            cells.append(row.sentPerSecond.map(PaceText.number) ?? "-")
            cells.append(overview.quotaPerMinute > 0 ? PaceText.number(Double(overview.quotaPerMinute) / 60) : "-")
            cells += [project.recipientsAwaitingSend, overview.entries, overview.open, overview.waitingFanouts].map {
                "\($0)"
            }
            cells += [overview.parked, project.dead, overview.retrying, Int64(project.workersAlive)].map { "\($0)" }
            let isMoving = !TopScreen.needsAttention(condition.word)
            let active = overview.active.map { turn($0, isMoving ? overview.activeLeftMs[$0] : nil) }
            cells += [active.isEmpty ? "-" : active.joined(separator: ","), condition.reason ?? ""]
            table.add(cells)
        }
        return table.lines(width: width).joined(separator: "\n")
    }

    /// The jobs that need an operator, each with the command for it.
    static func jobsNeedingAttention(_ fleet: FleetSnapshot) -> [String] {
        fleet.projects.flatMap { project in
            project.attentionConditions.filter(\.isOfJobs).map { condition in
                let place = "--project \(project.id)"
                let remedy: String?
                if ["parked", "rejected"].contains(condition.kind) {
                    let show = condition.count == 1 ? condition.entry.map { "show \($0)" } : nil
                    remedy = "; see `fanfare dead \(show ?? "ls") \(place)`"
                } else {
                    remedy = condition.job.map { "; `fanfare job resume \($0) \(place)` continues it" }
                }
                return "\(project.id): \(condition.text)\(remedy ?? "")"
            }
        }
    }

    /// A job that holds the slot, and how long FCM will still fan it out.
    private static func turn(_ job: String, _ leftMs: Int64?) -> String {
        leftMs.map { "\(job) (\(PaceText.duration(Double($0) / 1_000)) left)" } ?? job
    }
}

extension ProjectListCommand.Row {
    var json: JSONObject {
        let overview = project.overview
        let condition = project.condition
        var object: JSONObject = ["project": .string(project.id), "state": .string(condition.word)]
        object["reason"] = condition.reason.map { .string($0) }
        object["since_ms"] = condition.sinceMs.map { .number(JSONNumber($0)) }
        let numbers: [(String, Int64)] = [
            ("waiting", project.recipientsAwaitingSend), ("pushed", overview.entries), ("jobs", overview.open),
            ("queued", overview.waitingFanouts), ("scheduled", overview.scheduled), ("parked", overview.parked),
            ("dead", project.dead), ("retrying", overview.retrying), ("workers", Int64(project.workersAlive)),
            ("hold_ms", overview.holdMs), ("permits_per_second", Int64(overview.permitsPerSecond.rounded())),
            ("quota_per_minute", overview.quotaPerMinute),
        ]
        for (key, value) in numbers { object[key] = .number(JSONNumber(value)) }
        object["sent_per_second"] = sentPerSecond.flatMap { Int64(exactly: $0.rounded()) }.map {
            .number(JSONNumber($0))
        }
        object["active"] = .array(overview.active.map { .string($0) })
        let left = overview.active.compactMap { job in
            overview.activeLeftMs[job].map { JSONObject.Member(key: job, value: .number(JSONNumber($0))) }
        }
        object["active_left_ms"] = .object(JSONObject(left))
        return object
    }
}
