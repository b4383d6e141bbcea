import FanfareJSON

/// The messages that each project may send in 60 seconds.
struct SendQuotas: Equatable, Sendable {
    private let perMinute: Int
    /// By project id.
    private var windows: [String: QuotaWindow] = [:]
    /// Requests that were refused.
    private(set) var rejectedCount = 0

    init(perMinute: Int) {
        self.perMinute = perMinute
    }

    /// - Returns: false if the project has less than `count` left in this window.
    mutating func consume(_ count: Int, project: String, nowMs: Int64) -> Bool {
        if windows[project, default: QuotaWindow(limit: perMinute)].consume(count, nowMs: nowMs) { return true }
        rejectedCount += 1
        return false
    }

    /// Takes one message back: an answer with status 429 does not count.
    mutating func restore(project: String) { windows[project]?.restore(1) }

    /// Whole seconds until the project's next window, at least 1.
    func secondsLeft(project: String, nowMs: Int64) -> Int64 { windows[project]?.secondsLeft(nowMs: nowMs) ?? 1 }

    /// `GET /quota`: the windows of each project, oldest first.
    var report: JSONObject {
        let members = windows.sorted { $0.key < $1.key }.map { (project, quota) -> JSONObject.Member in
            let uses = quota.uses.map { use -> JSONValue in
                .object([
                    "started_ms": .integer(use.startedMs), "used": .integer(use.used), "refused": .integer(use.refused),
                ])
            }
            let report: JSONObject = ["limit": .integer(quota.limit), "windows": .array(uses)]
            return JSONObject.Member(key: project, value: .object(report))
        }
        return JSONObject(members)
    }
}
