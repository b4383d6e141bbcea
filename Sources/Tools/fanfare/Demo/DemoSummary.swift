internal import FanfareClient
internal import FanfareJSON
internal import FanfareModel

/// Counts results by kind and compares the counts with the expected ones.
struct DemoSummary {
    private var found: [DemoMix.Row: Int] = [:]
    private var seen: Set<Int64> = []
    private var retried = 0
    /// Whether the stream has no result that is plainly `sent`.
    private let hasFailuresOnly: Bool

    /// - Parameter sent: the job's number of accepted recipients if only its other results were written; nil if all were.
    init(sent: Int64? = nil) {
        hasFailuresOnly = sent != nil
        if let sent, sent > 0 { found[.sent] = Int(sent) }
    }

    mutating func add(_ result: JobResult) {
        // Such a job has the `sent` results that may be duplicates: they are counted already.
        if hasFailuresOnly, result.status == .sent { return }
        let row = DemoMix.Row(
            status: result.status.rawValue,
            error: result.error ?? "-",
            action: result.action ?? "none"
        )
        found[row, default: 0] += 1
        seen.insert(result.index)
        if result.attempts > 1 { retried += 1 }
    }

    /// True if every recipient has exactly one result, and the expected one.
    func isAsExpected(_ mix: DemoMix) -> Bool {
        let listed = hasFailuresOnly ? mix.count - mix.expected[.sent, default: 0] : mix.count
        return found == mix.expected && seen.count == listed
    }

    func lines(_ mix: DemoMix, _ status: JobStatus, _ speed: DemoSpeed?) -> [String] {
        let isRight = isAsExpected(mix)
        var table = TextTable(
            ["status", "error", "action", "recipients"] + (isRight ? [] : ["expected"]),
            numeric: [3, 4]
        )
        for row in Set(found.keys).union(mix.expected.keys).sorted() {
            let expected = isRight ? [] : ["\(mix.expected[row] ?? 0)"]
            table.add([row.status, row.error, row.action, "\(found[row] ?? 0)"] + expected)
        }
        var lines = table.lines
        lines.append("")
        if let start = status.startedMs, let pass = status.firstPassMs, let end = status.finishedMs {
            lines.append(
                "\(status.total) recipients: first pass \(Self.seconds(pass - start)), finished \(Self.seconds(end - start))"
                    + (hasFailuresOnly ? "." : "; \(retried) needed more than one attempt.")
            )
        }
        lines.append("`sent` means accepted by FCM, not delivered and not shown.")
        lines.append(isRight ? "Every recipient ended as it should." : "Some recipients did not end as they should.")
        if let speed { lines.append(speed.text()) }
        return lines
    }

    func json(_ mix: DemoMix, _ status: JobStatus, _ speed: DemoSpeed?) -> JSONObject {
        let rows = found.sorted { $0.key < $1.key }.map { row, count -> JSONValue in
            .object([
                "status": .string(row.status), "error": .string(row.error), "action": .string(row.action),
                "recipients": .number(JSONNumber(Int64(count))),
            ])
        }
        var object: JSONObject = [
            "ok": .bool(isAsExpected(mix)), "recipients": .number(JSONNumber(status.total)), "results": .array(rows),
        ]
        if !hasFailuresOnly { object["retried"] = .number(JSONNumber(Int64(retried))) }
        if let start = status.startedMs, let pass = status.firstPassMs, let end = status.finishedMs {
            object["first_pass_ms"] = .number(JSONNumber(pass - start))
            object["all_over_ms"] = .number(JSONNumber(end - start))
        }
        return JSONObject(object.members + (speed?.json.members ?? []))
    }

    private static func seconds(_ milliseconds: Int64) -> String {
        "\(milliseconds / 1_000).\(milliseconds % 1_000 / 100) s"
    }
}
