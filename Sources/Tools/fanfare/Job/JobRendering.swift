internal import FanfareClient
internal import FanfareJSON
internal import Foundation
internal import StreamWire

/// A job as the command line shows it.
enum JobRendering {
    private static func counters(_ status: JobStatus) -> [(name: String, count: Int64)] {
        [
            ("total", status.total), ("sent", status.sent), ("failed", status.failed), ("unknown", status.unknown),
            ("cancelled", status.cancelled), ("expired", status.expired), ("retrying", status.retrying),
            ("duplicates", status.duplicates),
        ]
    }

    private static func times(_ status: JobStatus) -> [(name: String, time: Int64?)] {
        [
            ("created_ms", status.createdMs), ("started_ms", status.startedMs), ("first_pass_ms", status.firstPassMs),
            ("finished_ms", status.finishedMs),
        ]
    }

    /// The hash's fields, and behind them what is worked out from them.
    static func json(_ progress: JobProgress, _ project: String) -> String {
        let status = progress.status
        var object = JSONObject([
            .init(key: "id", value: .string(status.id)), .init(key: "project", value: .string(project)),
            .init(key: "state", value: .string(status.state.rawValue)),
        ])
        func add(_ key: String, _ number: Int64?) {
            if let number { object.members.append(.init(key: key, value: .number(JSONNumber(number)))) }
        }
        for (name, count) in counters(status) { add(name, count) }
        for (name, time) in times(status) { add(name, time) }
        if let reason = status.reason { object.members.append(.init(key: "reason", value: .string(reason))) }
        if let source = status.audienceSource {
            add("audience_estimate", status.audienceEstimate)
            object.members.append(.init(key: "audience_source", value: .string(source.rawValue)))
        }
        add("rate_per_second", progress.resultsPerSecond.flatMap(whole))
        add("left_seconds", progress.remainingSeconds.map { $0.rounded(.up) }.flatMap(whole))
        switch progress.turn {
        case .none: break
        case .waiting(let ahead): add("queue_position", Int64(ahead) + 1)
        case .holding(let untilMs): add("slot_until_ms", untilMs)
        }
        if let obstacle = progress.obstacle {
            object.members.append(.init(key: "held_by", value: .string(obstacle)))
        }
        return JSONValue.object(object).jsonText
    }

    private static func whole(_ number: Double) -> Int64? { Int64(exactly: number.rounded()) }

    static func table(_ progress: JobProgress) -> String {
        let status = progress.status
        var table = TextTable(["job", status.id])
        table.add(["state", status.state.rawValue])
        if let reason = status.reason {
            table.add(["reason", reason])
        } else if let obstacle = progress.obstacle {
            table.add(["held by", obstacle])
        }
        for (name, count) in counters(status) where count > 0 || ["total", "sent", "failed"].contains(name) {
            table.add([name, "\(count)"])
        }
        if let source = status.audienceSource, let size = status.audienceEstimate {
            table.add(["audience", source == .none ? "size not known" : "\(size) (\(source))"])
        }
        if let rate = progress.resultsPerSecond { table.add(["rate", "\(PaceText.rate(rate)) since its start"]) }
        if let remaining = remaining(progress) { table.add(["remaining", remaining]) }
        for case (let name, let time?) in times(status) { table.add([String(name.dropLast(3)), timestamp(time)]) }
        return table.lines.joined(separator: "\n")
    }

    /// What can be said of the time that is left; nil when nothing can.
    static func remaining(_ progress: JobProgress) -> String? {
        switch progress.turn {
        case .waiting(let ahead):
            if ahead == 0 { return "next of the fan-outs that wait" }
            return ahead == 1 ? "1 fan-out waits before it" : "\(ahead) fan-outs wait before it"
        case .holding(.some):
            let left = PaceText.duration(progress.remainingSeconds ?? 0)
            return "FCM is busy with it for an estimated \(left)"
        case .holding(nil) where progress.jobClass == .aimed:
            return "FCM is fanning it out; the time left is not known, because the size of its audience is not"
        case .none, .holding(nil): break
        }
        if let seconds = progress.remainingSeconds { return "about \(PaceText.duration(seconds)) left" }
        if progress.status.state == .retrying { return "what is left waits for another attempt, each at its own time" }
        return nil
    }

    static func timestamp(_ milliseconds: Int64) -> String {
        let date = Date(timeIntervalSince1970: (Double(milliseconds) + 0.5) / 1_000)
        return date.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }
}
