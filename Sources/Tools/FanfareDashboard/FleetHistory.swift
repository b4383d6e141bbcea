internal import FanfareClient
internal import FanfareJSON

/// The rates of each project over the last five minutes, for the charts.
struct FleetHistory: Sendable {
    /// Five minutes at one sample a second.
    static let maxSamples = 300

    /// Rates a second since the previous sample (sent, failed, unknown, retries), and the number of waiting recipients.
    private struct Sample {
        var atMs: Int64
        var rates: [Double]
        var waiting: Int64

        var json: JSONValue {
            let numbers = rates.map { JSONNumber(tenths: Int64(($0 * 10).rounded())) } + [JSONNumber(waiting)]
            return .array([.number(JSONNumber(atMs))] + numbers.map { .number($0) })
        }
    }

    private var samples: [String: [Sample]] = [:]
    private var last: [String: (atMs: Int64, tally: ResultTally)] = [:]

    mutating func add(_ snapshot: FleetSnapshot) {
        let ids = Set(snapshot.projects.map(\.id))
        samples = samples.filter { ids.contains($0.key) }
        last = last.filter { ids.contains($0.key) }
        for project in snapshot.projects {
            let atMs = project.askedMs
            defer { last[project.id] = (atMs, project.tally) }
            guard let before = last[project.id], atMs > before.atMs else { continue }
            let seconds = Double(atMs - before.atMs) / 1_000
            func rate(_ count: (ResultTally) -> Int64) -> Double {
                // After a failover Redis may have older counts.
                min(1e9, max(0, Double(count(project.tally) - count(before.tally)) / seconds))
            }
            let rates = [rate(\.sent), rate(\.failed), rate(\.unknown), rate(\.retries)]
            samples[project.id, default: []].append(
                Sample(atMs: atMs, rates: rates, waiting: project.recipientsWaiting)
            )
            if let count = samples[project.id]?.count, count > Self.maxSamples { samples[project.id]?.removeFirst() }
        }
    }

    /// The newest sample of each project.
    var latest: JSONObject {
        JSONObject(
            samples.sorted { $0.key < $1.key }.compactMap { id, samples in
                samples.last.map { .init(key: id, value: $0.json) }
            }
        )
    }

    var all: JSONObject {
        JSONObject(
            samples.sorted { $0.key < $1.key }.map { id, samples in .init(key: id, value: .array(samples.map(\.json))) }
        )
    }
}
