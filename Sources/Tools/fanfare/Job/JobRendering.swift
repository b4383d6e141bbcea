internal import FanfareClient
internal import FanfareModel
internal import FoundationEssentials
internal import Glibc
internal import StreamWire

/// A job as text and as JSON.
enum JobRendering {
    /// The rows that `job show` prints of a job's details.
    static func table(_ details: JobDetails, nextRetryMs: Int64? = nil) -> String {
        table(details.progress, expiresAtMs: details.expiresAtMs, nextRetryMs: nextRetryMs)
    }

    /// - Parameters:
    ///   - expiresAtMs: when the job expires, Unix milliseconds; nil if unknown, or if it does not.
    ///   - nextRetryMs: when its next retry is due, Unix milliseconds; nil if unknown.
    static func table(_ progress: JobProgress, expiresAtMs: Int64? = nil, nextRetryMs: Int64? = nil) -> String {
        let status = progress.status
        var rows = [("job", status.id), ("state", status.state.rawValue)]
        if status.state == .scheduled, let startMs = status.notBeforeMs {
            rows.append(("starts", ClockText.relative(startMs, nowMs: progress.nowMs)))
        }
        if status.isIDFree { rows.append(("id", "may be used again: no recipient had an attempt")) }
        if let reason = status.reason { rows.append(("reason", reason)) }
        if let heldBy = heldBy(progress), !repeats(heldBy, reason: status.reason) {
            rows.append(("held by", heldBy))
        }
        for (name, count) in status.counters where count > 0 || ["total", "sent", "failed"].contains(name) {
            rows.append((name, name == "maybe_dup" ? "\(count) may have got it twice" : "\(count)"))
        }
        rows += errors(status).map { ("", $0) }
        rows += GuardText.rows(status)
        if let source = status.audienceSource, let size = status.audienceEstimate {
            rows.append(("audience", source == .none ? "size not known" : "\(size) (\(source))"))
        }
        if let rate = progress.resultsPerSecond {
            rows.append(("rate", PaceText.rate(rate) + (status.isOver ? " in its first pass" : "")))
        }
        if let tail = tail(progress, nextRetryMs) {
            rows.append(("tail", tail))
        } else if let remaining = remaining(progress) {
            rows.append(("remaining", remaining))
        }
        rows += times(progress, expiresAtMs: expiresAtMs)
        var table = TextTable(columns: [.text("name"), .text("value")], hasTitles: false)
        for (name, value) in rows { table.add([name, value]) }
        return table.lines.joined(separator: "\n")
    }

    /// Whether the reason in a job's hash says the same: of an outage it also says since when.
    private static func repeats(_ heldBy: String, reason: String?) -> Bool {
        guard let reason, reason != heldBy else { return reason == heldBy }
        guard let words = heldBy.firstRange(of: " cannot be reached: ") else { return false }
        return reason.hasPrefix(heldBy[..<words.lowerBound] + " cannot be reached since ")
            && reason.hasSuffix(heldBy[words.upperBound...])
    }

    /// Failed recipients by error, with their share of the results so far and what the producer should do, aligned.
    private static func errors(_ status: JobStatus) -> [String] {
        var table = TextTable(
            columns: [.number("count"), .number("share"), .text("of"), .text("error"), .text("action")],
            hasTitles: false
        )
        let of = "of \(status.judged) \(status.canaryTried == nil ? "results" : "of the canary")"
        for error in status.errors {
            table.add(["\(error.count)", Share.text(error.count, of: status.judged), of, error.error, error.action])
        }
        return table.lines
    }

    /// The first pass and the tail of retries apart, each with its length.
    private static func times(_ progress: JobProgress, expiresAtMs: Int64?) -> [(String, String)] {
        let status = progress.status
        func moment(_ ms: Int64, since start: Int64?) -> String {
            let length = start.map { "  after \(PaceText.span(milliseconds: max(0, ms - $0)))" } ?? ""
            return ClockText.date(ms) + length
        }
        var rows: [(String, String)] = []
        if let ms = status.createdMs { rows.append(("pushed", ClockText.relative(ms, nowMs: progress.nowMs))) }
        if status.state != .scheduled, let ms = status.notBeforeMs { rows.append(("scheduled", ClockText.date(ms))) }
        if let ms = expiresAtMs, !status.isOver {
            rows.append(("expires", ClockText.relative(ms, nowMs: progress.nowMs)))
        }
        if let ms = status.startedMs { rows.append(("started", moment(ms, since: nil))) }
        if let ms = status.firstPassMs { rows.append(("first pass", moment(ms, since: status.startedMs))) }
        if let ms = status.finishedMs {
            rows.append(("finished", moment(ms, since: status.firstPassMs ?? status.startedMs)))
        }
        return rows
    }

    /// Why the job makes no progress now, and until when; nil if it does, and for a job that only waits for its start.
    static func heldBy(_ progress: JobProgress) -> String? {
        if let stop = progress.stop ?? progress.status.closedWindow { return stop }
        guard let project = progress.project, project.holdMs > 0, progress.heldBy != nil,
            progress.status.state != .scheduled
        else { return nil }
        let until = ClockText.moment(progress.nowMs + project.holdMs, nowMs: progress.nowMs)
        return "FCM until \(until), for another \(PaceText.duration(Double(project.holdMs) / 1_000))"
    }

    /// What the unfinished recipients of a finished first pass wait for; nil before its end and after the job's.
    static func tail(_ progress: JobProgress, _ nextRetryMs: Int64?) -> String? {
        let status = progress.status
        guard !status.isOver, status.firstPassMs != nil || status.state == .retrying else { return nil }
        let open = max(0, status.total - status.finished)
        let waiting = min(open, max(0, status.retrying))
        guard waiting > 0 else { return open > 0 ? "\(open) in flight" : nil }
        let due = nextRetryMs.map { Double($0 - progress.nowMs) / 1_000 }
        let next = due.map { $0 > 0 ? ", next in \(PaceText.duration($0))" : ", next now" } ?? ""
        return "\(waiting) \(waiting == 1 ? "waits" : "wait") for a retry\(next)"
    }

    /// The remaining time or the place in the queue; nil if neither is known.
    static func remaining(_ progress: JobProgress) -> String? {
        switch progress.turn {
        case .waiting(let ahead):
            if ahead == 0 { return "next of the waiting fan-outs" }
            return ahead == 1 ? "1 fan-out waits before it" : "\(ahead) fan-outs wait before it"
        case .holding(.some):
            let left = PaceText.duration(progress.remainingSeconds ?? 0)
            return "FCM is fanning it out, estimated \(left) left"
        case .holding(nil) where progress.jobClass == .aimed:
            return "FCM is fanning it out; the time left is not known without the size of its audience"
        case .none, .holding(nil): break
        }
        return progress.remainingSeconds.map { "about \(PaceText.duration($0)) left" }
    }

    static func timestamp(_ milliseconds: Int64) -> String {
        let date = Date(timeIntervalSince1970: (Double(milliseconds) + 0.5) / 1_000)
        return date.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }

    /// A row for each job of a local time, and their sums.
    static func table(_ parts: JobParts) -> String {
        let names = parts.counters.filter { $0.count > 0 || ["total", "sent", "failed"].contains($0.name) }.map(\.name)
        var table = TextTable(
            columns: [.text("job"), .text("starts"), .text("state")] + names.map { .number($0) },
            hasTitles: true
        )
        func cells(_ counters: [(name: String, count: Int64)]) -> [String] {
            names.map { name in "\(counters.first { $0.name == name }?.count ?? 0)" }
        }
        for job in parts.jobs {
            let starts = job.notBeforeMs.map { CalendarTime(unixMs: $0).rfc3339.prefix(16) + "Z" } ?? "-"
            table.add([job.id, String(starts), job.state.rawValue] + cells(job.counters))
        }
        table.add(["\(parts.jobs.count) jobs", "", parts.isOver ? "over" : ""] + cells(parts.counters))
        return table.lines.joined(separator: "\n")
    }
}
