public import FanfareJSON
internal import FanfareModel
internal import StreamWire

/// A fleet snapshot as JSON, for `fanfare top --json` and the dashboard. Unknown values are left out.
public struct FleetJSON {
    private let meter: FleetMeter

    /// - Parameter meter: a meter that the rendered snapshots were added to.
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
        object["since_ms"] = condition.sinceMs.map { number($0) }
        let numbers: [(String, Int64)] = [
            ("recipients_waiting", project.recipientsAwaitingSend), ("oldest_wait_ms", project.oldestWaitMs),
            ("pushed", overview.entries), ("jobs", overview.open), ("queued", overview.waitingFanouts),
            ("singles", project.waitingSingles), ("managed", project.waitingManaged),
            ("scheduled", overview.scheduled), ("parked", overview.parked), ("stopped", overview.resting.stopped),
            ("at_canary", overview.resting.atCanary), ("jobs_paused", overview.resting.paused),
            ("jobs_closed", overview.resting.closed), ("retrying", overview.retrying),
            ("dead", project.dead), ("results", project.results), ("hold_ms", overview.holdMs),
            ("probe_ms", project.probeMs), ("quota_per_minute", overview.quotaPerMinute),
            ("permits_per_second", Int64(overview.permitsPerSecond.rounded())), ("permits", Int64(project.permits)),
            ("workers", Int64(project.workersAlive)), ("in_flight", project.inFlight),
        ]
        for (key, value) in numbers { object[key] = number(value) }
        if !project.attentionConditions.isEmpty {
            object["troubles"] = .array(project.attentionConditions.map { .object(self.object($0)) })
        }
        object["results_unread"] = project.unreadResults.map { number($0) }
        object["drain_seconds"] = meter.drainSeconds(of: project).flatMap(Self.tenths)
        if let rates = meter.rates(of: project.id) { object["rates"] = .object(self.object(rates)) }
        object["tally"] = .object([
            "sent": number(project.tally.sent), "failed": number(project.tally.failed),
            "unknown": number(project.tally.unknown), "cancelled": number(project.tally.cancelled),
            "expired": number(project.tally.expired), "retries": number(project.tally.retries),
            "maybe_dup": number(project.tally.maybeDup),
        ])
        let lists = [
            ("active", project.holding), ("waiting", project.queued), ("needing", project.parked),
            ("others", project.others),
        ]
        for (key, jobs) in lists { object[key] = .array(jobs.map { .object(self.object($0, in: project)) }) }
        return object
    }

    public func object(_ rates: FleetRates) -> JSONObject {
        var object = JSONObject()
        let all = [
            ("sent", rates.sent), ("failed", rates.failed), ("unknown", rates.unknown), ("retries", rates.retries),
        ]
        for (key, rate) in all { object[key] = Self.tenths(rate) }
        return object
    }

    public func object(_ job: FleetJob, in project: ProjectSnapshot) -> JSONObject {
        let status = job.status
        var object = Self.object(status)
        object["class"] = job.jobClass.map { .string($0.rawValue) }
        object["priority"] = job.priority.map { number(Int64($0)) }
        object["ending"] = job.ending.map { .string($0) }
        let progress = project.progress(of: job)
        object["rate"] = progress.resultsPerSecond.flatMap(Self.tenths)
        object["left_seconds"] = progress.remainingSeconds.flatMap(Self.tenths)
        object["slot_left_ms"] = project.overview.activeLeftMs[status.id].map { number($0) }
        if project.overview.active.contains(status.id) { object["epoch"] = .string(project.overview.epoch) }
        return object
    }

    /// The state, counters, times, reason and guards of a job's hash.
    public static func object(_ status: JobStatus) -> JSONObject {
        var object: JSONObject = ["id": .string(status.id), "state": .string(status.state.rawValue)]
        for (key, count) in status.counters { object[key] = .number(JSONNumber(count)) }
        for case (let key, let time?) in status.times { object[key] = .number(JSONNumber(time)) }
        object["reason"] = status.reason.map { .string($0) }
        if status.isIDFree { object["id_free"] = true }
        if status.isPersonal { object["personal"] = true }
        if !status.guards.isEmpty { object["guards"] = .object(self.object(status.guards)) }
        return object
    }

    /// By the names of the job's fields.
    static func object(_ guards: JobGuards) -> JSONObject {
        var object = JSONObject()
        object["rate"] = guards.ratePerMinute.map { .number(JSONNumber(Int64($0))) }
        object["canary"] = guards.canary.map { .string($0) }
        object["canary_wait_ms"] = guards.canaryWaitMs.map { .number(JSONNumber($0)) }
        object["stop_if"] = guards.stopIf.map { .string($0) }
        object["send_window"] = guards.sendWindow.map { .string($0) }
        return object
    }

    /// The errors of a job. `of`: the recipients that were judged so far; `share`: in percent of them.
    package static func errors(_ status: JobStatus) -> JSONValue {
        .array(
            status.errors.map { error in
                let share = Share.tenths(error.count, of: status.judged)
                return .object([
                    "error": .string(error.error), "action": .string(error.action),
                    "count": .number(JSONNumber(error.count)), "of": .number(JSONNumber(status.judged)),
                    "share": .number(JSONNumber(tenths: share)),
                ])
            }
        )
    }

    private func object(_ condition: AttentionCondition) -> JSONObject {
        var object: JSONObject = [
            "kind": .string(condition.kind), "text": .string(condition.text), "remedy": .string(condition.remedy),
            "page": .string(condition.page), "count": number(condition.count),
        ]
        object["many"] = condition.many.map { .string($0) }
        object["job"] = condition.job.map { .string($0) }
        object["entry"] = condition.entry.map { .string($0) }
        object["since_ms"] = condition.sinceMs.map { number($0) }
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

    /// A number with one decimal; nil if it is negative, too large or not finite.
    package static func tenths(_ value: Double) -> JSONValue? {
        guard value.isFinite, (0..<1e12).contains(value), let scaled = Int64(exactly: (value * 10).rounded()) else {
            return nil
        }
        return .number(JSONNumber(tenths: scaled))
    }
}
