package import FanfareJSON

extension FleetJSON {
    /// The fields of the job's hash, then values derived from them.
    package static func object(
        _ progress: JobProgress,
        in project: String,
        details: JobDetails? = nil
    ) -> JSONObject {
        let status = progress.status
        var object = object(status)
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
        object["held_by"] = progress.heldBy.map { .string($0) }
        add("expires_at_ms", details?.expiresAtMs)
        if !status.errors.isEmpty { object["errors"] = errors(status) }
        return object
    }

    private static func whole(_ number: Double) -> Int64? { Int64(exactly: number.rounded()) }
}
