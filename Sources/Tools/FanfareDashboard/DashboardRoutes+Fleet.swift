internal import FanfareClient
internal import FanfareHTTP
internal import FanfareJSON

/// Redis, and the history of all projects.
extension DashboardRoutes {
    private static var maximumProjects: Int { 200 }
    private static var projectsAtOnce: Int { 8 }
    private static var chartMaxAge: Duration { .seconds(60) }

    func redisReport() async throws -> WebReply {
        guard let examine else { return .error(404, "not_found", "This dashboard does not examine Redis.") }
        return .json(try await examine())
    }

    /// The last 24 hours of the first 200 projects together. It is read at most once a minute.
    func fleetHistory() async throws -> WebReply {
        try await chart.reply(now: now(), maximumAge: Self.chartMaxAge) {
            let all = try await projects(nil)
            let names = Array(all.prefix(Self.maximumProjects))
            var sum = FleetDay()
            for start in stride(from: 0, to: names.count, by: Self.projectsAtOnce) {
                let some = names[start..<min(start + Self.projectsAtOnce, names.count)]
                try await withThrowingTaskGroup(of: (String, ProjectHistory).self) { group in
                    for name in some {
                        group.addTask { (name, try await projectOperator(name).history(spanMs: FleetDay.spanMs)) }
                    }
                    for try await (name, history) in group { sum.add(history, of: name) }
                }
            }
            var object = HistoryJSON(history: sum.history).object
            object["projects"] = .number(JSONNumber(Int64(names.count)))
            object["whole"] = .bool(names.count == all.count)
            return .json(object)
        }
    }
}

/// Adds up the histories of projects over 24 hours.
struct FleetDay: Sendable {
    static let spanMs: Int64 = 86_400_000
    private static let maximumMarks = 50
    /// Marks of one kind and text within this time are one: a death or a version concerns many projects at once.
    private static let markMs: Int64 = 30_000

    private var samples: [Int64: HistorySample] = [:]
    private var marks: [(project: String, mark: HistoryMark)] = []
    private var nowMs: Int64 = 0
    private var stepMs: Int64 = 300_000

    mutating func add(_ history: ProjectHistory, of project: String) {
        nowMs = max(nowMs, history.nowMs)
        stepMs = history.stepMs
        for sample in history.samples {
            var sum = samples[sample.atMs] ?? HistorySample(atMs: sample.atMs)
            // Anything may write counts into Redis.
            sum.sent = sum.sent.addingClamped(sample.sent)
            sum.failed = sum.failed.addingClamped(sample.failed)
            sum.unknown = sum.unknown.addingClamped(sample.unknown)
            sum.retries = sum.retries.addingClamped(sample.retries)
            sum.waiting = sum.waiting.addingClamped(sample.waiting)
            sum.quotaPerMinute = sum.quotaPerMinute.addingClamped(sample.quotaPerMinute)
            samples[sample.atMs] = sum
        }
        marks += history.marks.suffix(Self.maximumMarks).map { (project, $0) }
    }

    var history: ProjectHistory {
        ProjectHistory(
            samples: samples.values.sorted { $0.atMs < $1.atMs },
            marks: joinedMarks,
            stepMs: stepMs,
            nowMs: nowMs
        )
    }

    /// The newest marks, oldest first, each with its project or the number of them.
    private var joinedMarks: [HistoryMark] {
        var groups: [(mark: HistoryMark, projects: Set<String>)] = []
        for (project, mark) in marks.sorted(by: { ($0.mark.atMs, $0.project) < ($1.mark.atMs, $1.project) }) {
            let same = groups.lastIndex {
                $0.mark.kind == mark.kind && Self.what($0.mark) == Self.what(mark)
                    && mark.atMs - $0.mark.atMs <= Self.markMs
            }
            if let same {
                groups[same].projects.insert(project)
            } else {
                groups.append((mark, [project]))
            }
        }
        return groups.suffix(Self.maximumMarks).map { mark, projects in
            var mark = mark
            let place = projects.count == 1 ? projects.first ?? "" : "\(projects.count) projects"
            mark.text = place + ": " + (projects.count == 1 ? mark.text : Self.what(mark))
            return mark
        }
    }

    /// What a mark says of every project: of a lost worker its name, without its batches in the project.
    private static func what(_ mark: HistoryMark) -> String {
        mark.kind == .lost ? String(mark.text.prefix { $0 != "," }) : mark.text
    }
}

/// A reply that is costly to make: all who ask within a time get the same one.
actor CachedReply {
    private var last: (reply: Task<WebReply, any Error>, at: Duration)?

    func reply(
        now: Duration,
        maximumAge: Duration,
        make: @escaping @Sendable () async throws -> WebReply
    ) async throws -> WebReply {
        if let last, now - last.at < maximumAge { return try await last.reply.value }
        let task = Task { try await make() }
        last = (task, now)
        do {
            return try await task.value
        } catch {
            if last?.reply == task { last = nil }
            throw error
        }
    }
}
