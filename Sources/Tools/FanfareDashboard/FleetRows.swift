internal import FanfareClient
internal import FanfareJSON

/// What the overview shows of a fleet: a row for each project, sparklines, and the workers.
///
/// The rows of 200 projects change each second, so a row holds no jobs and no counts that the overview does not show.
struct FleetRows: Sendable {
    private static let keys = [
        "id", "state", "reason", "since_ms", "recipients_waiting", "pushed", "oldest_wait_ms", "drain_seconds", "dead",
        "troubles", "parked", "jobs", "scheduled", "workers", "quota_per_minute", "hold_ms", "rates",
    ]
    /// A worker's row names at most this many of its projects.
    private static let maximumNames = 3

    static func row(_ project: JSONObject) -> JSONObject {
        var row = JSONObject()
        for key in keys { row[key] = project[key] }
        return row
    }

    /// A worker without its sends in each project.
    static func row(_ worker: WorkerSnapshot, _ json: FleetJSON) -> JSONObject {
        var row = json.object(worker)
        row["projects"] = .number(JSONNumber(Int64(worker.projects.count)))
        row["names"] = .array(worker.projects.prefix(maximumNames).map { .string($0.id) })
        return row
    }
}

/// The rates of acceptance over the last five minutes, one for every five seconds, for the sparklines.
///
/// All lines share their times, so each line is an array of numbers; a project whose rates are all 0 has none.
struct Sparklines: Sendable {
    static let stepMs: Int64 = 5_000
    static let points = 60

    private struct Line: Sendable {
        var rates: [Int64] = []
        var lastSent: Int64
        var lastMs: Int64
    }

    private var lines: [String: Line] = [:]
    /// The end of the newest step; 0 before the first snapshot.
    private(set) var endMs: Int64 = 0

    /// Adds a snapshot. Returns whether a step ended with it.
    mutating func add(_ snapshot: FleetSnapshot) -> Bool {
        let end = snapshot.nowMs / Self.stepMs * Self.stepMs
        let isFirst = endMs == 0
        guard isFirst || end != endMs else {
            for project in snapshot.projects where lines[project.id] == nil { lines[project.id] = Self.line(project) }
            return false
        }
        // A clock that was set back starts again; steps without a snapshot repeat the mean of their time.
        let steps = isFirst ? 0 : Int((end - endMs) / Self.stepMs)
        if steps < 0 || steps > Self.points { lines = [:] }
        var next: [String: Line] = [:]
        for project in snapshot.projects {
            var line = lines[project.id] ?? Self.line(project)
            let seconds = Double(max(1, project.askedMs - line.lastMs)) / 1_000
            let rate = Int64(min(1e9, max(0, Double(project.tally.sent - line.lastSent) / seconds)).rounded())
            if lines[project.id] != nil, (1...Self.points).contains(steps) {
                line.rates = Array((line.rates + Array(repeating: rate, count: steps)).suffix(Self.points))
            }
            line.lastSent = project.tally.sent
            line.lastMs = project.askedMs
            next[project.id] = line
        }
        lines = next
        endMs = end
        return !isFirst
    }

    private static func line(_ project: ProjectSnapshot) -> Line {
        Line(lastSent: project.tally.sent, lastMs: project.askedMs)
    }

    /// All lines, oldest point first.
    var all: JSONObject {
        object { line in
            line.rates.contains { $0 > 0 } ? .array(line.rates.map { .number(JSONNumber($0)) }) : nil
        }
    }

    /// The newest point of each line that is not 0.
    var latest: JSONObject {
        object { line in line.rates.last.flatMap { $0 > 0 ? .number(JSONNumber($0)) : nil } }
    }

    private func object(_ value: (Line) -> JSONValue?) -> JSONObject {
        let members = lines.sorted { $0.key < $1.key }.compactMap { id, line in
            value(line).map { JSONObject.Member(key: id, value: $0) }
        }
        return JSONObject([
            .init(key: "end_ms", value: .number(JSONNumber(endMs))),
            .init(key: "rates", value: .object(JSONObject(members))),
        ])
    }
}
