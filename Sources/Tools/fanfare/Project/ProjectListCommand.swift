internal import ArgumentParser
internal import FanfareClient
internal import FanfareConfiguration
internal import FanfareJSON
internal import StreamWire

struct ProjectListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ls",
        abstract: "Lists the projects and their state.",
        discussion: """
            Lists projects of the configuration, and those that a worker or the command line has registered.

            Example:
              fanfare project ls --redis redis://127.0.0.1:6379/0
            """
    )

    @OptionGroup var options: ConfigurationOptions

    @Flag(help: "Print one JSON object per line.")
    var json = false

    func run() async throws {
        let configuration = try options.load()
        try await RedisSession.run(configuration) { client in
            let seen = try await FanfareOperator.projects(redis: client, prefix: configuration.prefix)
            let names = Set(seen + configuration.projects.map(\.id)).sorted()
            var rows: [(String, OverviewReply)] = []
            // One after the other: there are few, and each takes microseconds.
            for name in names {
                let projectOperator = FanfareOperator(redis: client, project: name, prefix: configuration.prefix)
                rows.append((name, try await projectOperator.overview()))
            }
            if json {
                for (name, overview) in rows { Console.json(Self.json(name, overview)) }
            } else if rows.isEmpty {
                Console.error("no project is configured or registered yet")
            } else {
                Console.line(Self.table(rows))
            }
        }
    }

    /// The state in one word, and its reason.
    static func state(_ overview: OverviewReply) -> (word: String, reason: String?) {
        if overview.isPaused { return ("paused", overview.pauseReason) }
        if !overview.blockReason.isEmpty { return ("blocked", overview.blockReason) }
        if !overview.pressure.isEmpty { return ("pressed", overview.pressure) }
        if overview.holdMs > 0 { return ("held", "for \(PaceText.duration(Double(overview.holdMs) / 1_000))") }
        if overview.entries + overview.open > 0, overview.workers == 0 { return ("no worker", nil) }
        if overview.entries + overview.open > 0, overview.isRecovering { return ("working", "slowly, after a hold") }
        return (overview.entries + overview.open > 0 ? "working" : "idle", nil)
    }

    static func table(_ rows: [(String, OverviewReply)]) -> String {
        var table = TextTable(
            ["project", "state", "pushed", "jobs", "queued", "parked", "retrying", "workers", "permits", "active"],
            numeric: [2, 3, 4, 5, 6, 7, 8]
        )
        for (name, overview) in rows {
            let state = state(overview)
            table.add([
                name, state.word + (state.reason.map { ": \($0)" } ?? ""), "\(overview.entries)", "\(overview.open)",
                "\(overview.waitingFanouts)", "\(overview.parked)", "\(overview.retrying)", "\(overview.workers)",
                overview.permitsPerSecond > 0 ? PaceText.rate(overview.permitsPerSecond) : "-",
                overview.active.isEmpty ? "-" : overview.active.map { Self.turn($0, overview) }.joined(separator: ","),
            ])
        }
        return table.lines.joined(separator: "\n")
    }

    /// A job that holds the slot, and how long FCM will still fan it out.
    private static func turn(_ job: String, _ overview: OverviewReply) -> String {
        guard let leftMs = overview.activeLeftMs[job] else { return job }
        return "\(job) (\(PaceText.duration(Double(leftMs) / 1_000)) left)"
    }

    static func json(_ name: String, _ overview: OverviewReply) -> JSONObject {
        let state = state(overview)
        var object: JSONObject = ["project": .string(name), "state": .string(state.word)]
        object["reason"] = state.reason.map { .string($0) }
        let numbers: [(String, Int64)] = [
            ("pushed", overview.entries), ("jobs", overview.open), ("queued", overview.waitingFanouts),
            ("scheduled", overview.scheduled), ("parked", overview.parked), ("retrying", overview.retrying),
            ("workers", overview.workers), ("hold_ms", overview.holdMs),
            ("permits_per_second", Int64(overview.permitsPerSecond.rounded())),
            ("quota_per_minute", overview.quotaPerMinute),
        ]
        for (key, value) in numbers { object[key] = .number(JSONNumber(value)) }
        object["active"] = .array(overview.active.map { .string($0) })
        let left = overview.active.compactMap { job in
            overview.activeLeftMs[job].map { JSONObject.Member(key: job, value: .number(JSONNumber($0))) }
        }
        object["active_left_ms"] = .object(JSONObject(left))
        return object
    }
}
