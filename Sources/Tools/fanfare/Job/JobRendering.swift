internal import FanfareClient
internal import FanfareJSON
internal import Foundation
internal import StreamWire

/// A job as text and as JSON.
enum JobRendering {
    /// The fields of the job's hash, then values derived from them.
    static func json(_ progress: JobProgress, _ project: String) -> JSONObject {
        let status = progress.status
        var object = FleetJSON.object(status)
        object.members.insert(.init(key: "project", value: .string(project)), at: 1)
        func add(_ key: String, _ number: Int64?) { object[key] = number.map { .number(JSONNumber($0)) } }
        if let source = status.audienceSource {
            add("audience_estimate", status.audienceEstimate)
            object["audience_source"] = .string(source.rawValue)
        }
        add("rate_per_second", progress.resultsPerSecond.flatMap(whole))
        add("left_seconds", progress.remainingSeconds.map { $0.rounded(.up) }.flatMap(whole))
        switch progress.turn {
        case .none: break
        case .waiting(let ahead): add("queue_position", Int64(ahead) + 1)
        case .holding(let untilMs): add("slot_until_ms", untilMs)
        }
        object["held_by"] = progress.obstacle.map { .string($0) }
        return object
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
        for (name, count) in status.counters where count > 0 || ["total", "sent", "failed"].contains(name) {
            table.add([name, "\(count)"])
        }
        if let source = status.audienceSource, let size = status.audienceEstimate {
            table.add(["audience", source == .none ? "size not known" : "\(size) (\(source))"])
        }
        if let rate = progress.resultsPerSecond { table.add(["rate", "\(PaceText.rate(rate)) since its start"]) }
        if let remaining = remaining(progress) { table.add(["remaining", remaining]) }
        for case (let name, let time?) in status.times { table.add([String(name.dropLast(3)), timestamp(time)]) }
        return table.lines.joined(separator: "\n")
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
        if let seconds = progress.remainingSeconds { return "about \(PaceText.duration(seconds)) left" }
        if progress.status.state == .retrying { return "unfinished recipients wait for their next attempt" }
        return nil
    }

    static func timestamp(_ milliseconds: Int64) -> String {
        let date = Date(timeIntervalSince1970: (Double(milliseconds) + 0.5) / 1_000)
        return date.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }
}
