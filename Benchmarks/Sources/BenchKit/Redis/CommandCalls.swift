/// Calls of Redis' commands for a thousand jobs, kept among the figures of a run.
enum CommandCalls {
    private static let prefix = "redis_calls_per_1000_"

    /// Commands that were called since `before`, but for `INFO`, which only the harness calls.
    static func figures(_ calls: [String: Int], since before: [String: Int], sends: Int) -> [String: Double] {
        var figures: [String: Double] = [:]
        for (command, count) in calls where command != "info" && count > before[command] ?? 0 {
            figures[prefix + command] = 1_000 * Double(count - (before[command] ?? 0)) / Double(sends)
        }
        return figures
    }

    /// One line for a side's last run, the most frequent command first; nil when it counted none.
    static func note(_ side: String, _ runs: [RunSample]) -> String? {
        let calls = (runs.last?.figures ?? [:]).compactMap { name, count in
            name.hasPrefix(prefix) ? (command: name.dropFirst(prefix.count), count: Int(count.rounded())) : nil
        }
        let seen = calls.filter { $0.count > 0 }.sorted { ($1.count, $0.command) < ($0.count, $1.command) }
        guard !seen.isEmpty else { return nil }
        let list = seen.map { "\($0.command) \($0.count)" }.joined(separator: ", ")
        return "commands of Redis for 1,000 jobs of \(side): \(list)"
    }
}
