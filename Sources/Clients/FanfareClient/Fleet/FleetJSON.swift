public import FanfareJSON
internal import StreamWire

/// The fleet's picture as JSON, for `fanfare top --json` and the dashboard. Times are milliseconds unless the name says
/// otherwise; what is not known is left out.
public struct FleetJSON {
    private let meter: FleetMeter

    /// - Parameter meter: has seen the snapshots that are rendered.
    public init(_ meter: FleetMeter) { self.meter = meter }

    public func object(_ snapshot: FleetSnapshot) -> JSONObject {
        [
            "now_ms": number(snapshot.nowMs),
            "projects": .array(snapshot.projects.map { .object(object($0)) }),
            "workers": .array(snapshot.workers.map { .object(object($0)) }),
        ]
    }

    public func object(_ project: ProjectSnapshot) -> JSONObject {
        let overview = project.overview
        let condition = project.condition
        var object: JSONObject = ["id": .string(project.id), "state": .string(condition.word)]
        object["reason"] = condition.reason.map { .string($0) }
        let numbers: [(String, Int64)] = [
            ("recipients_waiting", project.recipientsWaiting), ("oldest_wait_ms", project.oldestWaitMs),
            ("pushed", overview.entries), ("jobs", overview.open), ("queued", overview.waitingFanouts),
            ("singles", project.waitingSingles), ("managed", project.waitingManaged),
            ("scheduled", overview.scheduled), ("parked", overview.parked), ("retrying", overview.retrying),
            ("dead", project.dead), ("results", project.results), ("hold_ms", overview.holdMs),
            ("probe_ms", project.probeMs), ("quota_per_minute", overview.quotaPerMinute),
            ("permits_per_second", Int64(overview.permitsPerSecond.rounded())), ("permits", Int64(project.permits)),
            ("workers", Int64(project.workersAlive)), ("in_flight", project.inFlight),
        ]
        for (key, value) in numbers { add(key, number(value), to: &object) }
        object["results_unread"] = project.unreadResults.map { number($0) }
        object["drain_seconds"] = meter.drainSeconds(of: project).flatMap { tenths($0) }
        if let rates = meter.rates(of: project.id) { object["rates"] = .object(self.object(rates)) }
        object["tally"] = .object([
            "sent": number(project.tally.sent), "failed": number(project.tally.failed),
            "unknown": number(project.tally.unknown), "cancelled": number(project.tally.cancelled),
            "expired": number(project.tally.expired), "retries": number(project.tally.retries),
        ])
        let lists = [
            ("active", project.holding), ("waiting", project.queued), ("needing", project.parked),
            ("others", project.others),
        ]
        for (key, jobs) in lists {
            add(key, .array(jobs.map { .object(self.object($0, in: project)) }), to: &object)
        }
        return object
    }

    public func object(_ rates: FleetRates) -> JSONObject {
        var object = JSONObject()
        let all = [
            ("sent", rates.sent), ("failed", rates.failed), ("unknown", rates.unknown), ("retries", rates.retries),
        ]
        for (key, rate) in all { object[key] = tenths(rate) }
        return object
    }

    /// One job with its pace and what is left of it.
    public func object(_ job: FleetJob, in project: ProjectSnapshot) -> JSONObject {
        let status = job.status
        var object = Self.object(status)
        object["class"] = job.jobClass.map { .string($0.rawValue) }
        object["priority"] = job.priority.map { number(Int64($0)) }
        object["ending"] = job.ending.map { .string($0) }
        object["rate"] = meter.rate(of: status.id, in: project.id).flatMap { tenths($0) }
        object["left_seconds"] = meter.remainingSeconds(of: job, in: project).flatMap { tenths($0) }
        object["slot_left_ms"] = project.overview.activeLeftMs[status.id].map { number($0) }
        if project.overview.active.contains(status.id) { object["epoch"] = .string(project.overview.epoch) }
        return object
    }

    /// A job's hash.
    public static func object(_ status: JobStatus) -> JSONObject {
        var object: JSONObject = ["id": .string(status.id), "state": .string(status.state.rawValue)]
        let counts = [
            ("total", status.total), ("sent", status.sent), ("failed", status.failed), ("unknown", status.unknown),
            ("cancelled", status.cancelled), ("expired", status.expired), ("retrying", status.retrying),
            ("duplicates", status.duplicates),
        ]
        for (key, count) in counts { object.members.append(.init(key: key, value: .number(JSONNumber(count)))) }
        let times = [
            ("created_ms", status.createdMs), ("started_ms", status.startedMs), ("first_pass_ms", status.firstPassMs),
            ("finished_ms", status.finishedMs),
        ]
        for case (let key, let time?) in times {
            object.members.append(.init(key: key, value: .number(JSONNumber(time))))
        }
        object["reason"] = status.reason.map { .string($0) }
        return object
    }

    public func object(_ worker: WorkerSnapshot) -> JSONObject {
        var object: JSONObject = [
            "name": .string(worker.name), "alive": .bool(worker.isAlive), "in_flight": number(worker.inFlight),
            "batches": number(worker.batches),
        ]
        object["silent_ms"] = worker.silentMs.map { number($0) }
        if let card = worker.card {
            object["version"] = .string(card.version)
            object["host"] = .string(card.host)
            object["pid"] = number(card.pid)
            object["started_ms"] = number(card.startedMs)
        }
        let projects = worker.projects.map { project -> JSONValue in
            .object(["id": .string(project.id), "in_flight": number(project.lease.card?.inFlight ?? 0)])
        }
        object["projects"] = .array(projects)
        return object
    }

    private func number(_ value: Int64) -> JSONValue { .number(JSONNumber(value)) }

    private func add(_ key: String, _ value: JSONValue, to object: inout JSONObject) {
        object.members.append(.init(key: key, value: value))
    }

    /// nil for what is no number that anybody could use.
    private func tenths(_ value: Double) -> JSONValue? {
        guard value.isFinite, (0..<1e12).contains(value), let scaled = Int64(exactly: (value * 10).rounded()) else {
            return nil
        }
        return .number(JSONNumber(tenths: scaled))
    }
}
