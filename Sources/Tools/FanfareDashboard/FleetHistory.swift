internal import FanfareClient
internal import FanfareJSON

/// The rates of each project over the last five minutes, for the charts.
struct FleetHistory: Sendable {
    /// Five minutes at one sample a second.
    static let maxSamples = 300

    /// By project: time, rates a second since the previous sample (sent, failed, unknown, retries), and waiting
    /// recipients.
    private var samples: [String: [JSONValue]] = [:]
    private var last: [String: ProjectSnapshot] = [:]

    mutating func add(_ snapshot: FleetSnapshot) {
        let ids = Set(snapshot.projects.map(\.id))
        samples = samples.filter { ids.contains($0.key) }
        last = last.filter { ids.contains($0.key) }
        for project in snapshot.projects {
            defer { last[project.id] = project }
            guard let before = last[project.id], project.askedMs > before.askedMs else { continue }
            let seconds = Double(project.askedMs - before.askedMs) / 1_000
            func rate(_ count: (ResultTally) -> Int64) -> JSONNumber {
                // After a failover Redis may have older counts.
                let rate = min(1e9, max(0, Double(count(project.tally) - count(before.tally)) / seconds))
                return JSONNumber(tenths: Int64((rate * 10).rounded()))
            }
            let numbers = [
                JSONNumber(project.askedMs), rate(\.sent), rate(\.failed), rate(\.unknown), rate(\.retries),
                JSONNumber(project.recipientsWaiting),
            ]
            let recent = samples[project.id, default: []].suffix(Self.maxSamples - 1)
            samples[project.id] = recent + [.array(numbers.map { .number($0) })]
        }
    }

    /// The newest sample of each project.
    var latest: JSONObject { object { $0.last } }

    var all: JSONObject { object { .array($0) } }

    private func object(_ value: ([JSONValue]) -> JSONValue?) -> JSONObject {
        let members = samples.sorted { $0.key < $1.key }.compactMap { id, samples in
            value(samples).map { JSONObject.Member(key: id, value: $0) }
        }
        return JSONObject(members)
    }
}
