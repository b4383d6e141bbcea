internal import FanfareClient
internal import FanfareJSON

/// The rates of each project over the last five minutes, for the charts.
struct FleetHistory: Sendable {
    /// Five minutes at one sample a second.
    static let maximumSamples = 300

    /// The rates since the previous sample, in tenths a second: 200 projects keep 60,000 samples.
    private struct Sample: Sendable {
        var atMs: Int64
        var sent: Int64
        var failed: Int64
        var unknown: Int64
        var retries: Int64
        var waiting: Int64

        /// Time, rates, and waiting recipients.
        var json: JSONValue {
            let rates = [sent, failed, unknown, retries].map { JSONNumber(tenths: $0) }
            return .array(([JSONNumber(atMs)] + rates + [JSONNumber(waiting)]).map { .number($0) })
        }
    }

    private var samples: [String: [Sample]] = [:]
    private var last: [String: (tally: ResultTally, atMs: Int64)] = [:]

    mutating func add(_ snapshot: FleetSnapshot) {
        let ids = Set(snapshot.projects.map(\.id))
        samples = samples.filter { ids.contains($0.key) }
        last = last.filter { ids.contains($0.key) }
        for project in snapshot.projects {
            defer { last[project.id] = (project.tally, project.askedMs) }
            guard let before = last[project.id], project.askedMs > before.atMs else { continue }
            let seconds = Double(project.askedMs - before.atMs) / 1_000
            func rate(_ count: (ResultTally) -> Int64) -> Int64 {
                // After a failover Redis may have older counts.
                let rate = min(1e9, max(0, Double(count(project.tally) - count(before.tally)) / seconds))
                return Int64((rate * 10).rounded())
            }
            let sample = Sample(
                atMs: project.askedMs,
                sent: rate(\.sent),
                failed: rate(\.failed),
                unknown: rate(\.unknown),
                retries: rate(\.retries),
                waiting: project.recipientsWaiting
            )
            samples[project.id, default: []].append(sample)
            let count = samples[project.id]?.count ?? 0
            // Shift rarely: removing the first of an array moves the others.
            if count >= 2 * Self.maximumSamples { samples[project.id]?.removeFirst(count - Self.maximumSamples) }
        }
    }

    /// The newest sample of a project.
    func latest(of id: String) -> JSONValue? { samples[id]?.last?.json }

    func all(of id: String) -> JSONValue {
        .array((samples[id] ?? []).suffix(Self.maximumSamples).map(\.json))
    }

    var all: JSONObject {
        JSONObject(samples.keys.sorted().map { JSONObject.Member(key: $0, value: all(of: $0)) })
    }
}
