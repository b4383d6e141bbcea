internal import FanfareMetrics
internal import StreamWire

/// The gauges of one project that every worker reads from Redis.
final class FleetGauges {
    private let gauges: [(field: String, scale: Double, cell: GaugeCell)]
    private let drain: GaugeCell
    private let fanoutActive: GaugeCell
    private let blocked: GaugeCell
    private let unreachable: GaugeCell
    private let pressure: [(kind: String, cell: GaugeCell)]
    private let stopped: [(field: String, cell: GaugeCell)]
    private let age: GaugeCell
    private var readAt: UInt64?
    /// Recipients and pushed jobs that waited at the last reading.
    private(set) var waiting = 0.0

    init(project: String, registry: MetricRegistry) {
        func gauge(_ metric: Metric) -> GaugeCell { registry.gauge(metric, project) }
        let fields: [(String, Double, Metric)] = [
            ("left", 1, MetricCatalogue.recipientsWaiting), ("retrying", 1, MetricCatalogue.recipientsRetrying),
            ("entries", 1, MetricCatalogue.entriesWaiting), ("oldest_ms", 1_000, MetricCatalogue.oldestWait),
            ("waiting_fanouts", 1, MetricCatalogue.fanoutsWaiting), ("epoch", 1, MetricCatalogue.fanoutEpoch),
            ("hold_ms", 1_000, MetricCatalogue.cooldown), ("have", 1, MetricCatalogue.permits),
            ("rate", 1, MetricCatalogue.permitRate), ("quota", 1, MetricCatalogue.quota),
            ("dead", 1, MetricCatalogue.deadJobs), ("open", 1, MetricCatalogue.jobsOpen),
            ("parked", 1, MetricCatalogue.jobsParked), ("scheduled", 1, MetricCatalogue.jobsScheduled),
            ("unread", 1, MetricCatalogue.resultsUnread), ("paused", 1, MetricCatalogue.paused),
            ("workers", 1, MetricCatalogue.workersAlive),
        ]
        gauges = fields.map { ($0.0, $0.1, gauge($0.2)) }
        drain = gauge(MetricCatalogue.drain)
        fanoutActive = gauge(MetricCatalogue.fanoutActive)
        blocked = gauge(MetricCatalogue.blocked)
        unreachable = gauge(MetricCatalogue.unreachable)
        let kinds = MetricCatalogue.pressure.labels.last?.values ?? []
        pressure = kinds.map { ($0, registry.gauge(MetricCatalogue.pressure, project, $0)) }
        let guards = MetricCatalogue.jobsStopped.labels.last?.values ?? []
        stopped = guards.map { ("stopped_by_\($0)", registry.gauge(MetricCatalogue.jobsStopped, project, $0)) }
        age = gauge(MetricCatalogue.fleetAge)
    }

    /// - Parameter reply: the answer of `fleet`, a flat map. A field that is missing or no number counts as 0.
    /// - Returns: false for a reply that is no map, which changes nothing.
    @discardableResult
    func update(_ reply: RedisValue, now: UInt64) -> Bool {
        guard let fields = NamedValues(reply), fields["now_ms"] != nil else { return false }
        func number(_ name: String) -> Double {
            let value = fields.text(name).flatMap { Double($0) } ?? fields.number(name).map { Double($0) } ?? 0
            return value.isFinite ? max(0, value) : 0
        }
        for gauge in gauges { gauge.cell.set(number(gauge.field) / gauge.scale) }
        let quota = number("quota")
        waiting = number("left") + number("entries")
        drain.set(number("hold_ms") / 1_000 + (quota > 0 ? waiting * 60 / quota : 0))
        fanoutActive.set((fields.text("active") ?? "").split(separator: " ").count)
        blocked.set(!(fields.text("block") ?? "").isEmpty)
        let isPartial = fields.flag("unreachable_partly")
        unreachable.set(!(fields.text("unreachable") ?? "").isEmpty && !isPartial)
        for one in pressure { one.cell.set(one.kind == fields.text("pressure")) }
        for one in stopped { one.cell.set(number(one.field)) }
        readAt = now
        return true
    }

    func updateAge(now: UInt64) { age.set(readAt.map { Double(now - min(now, $0)) / 1e9 } ?? -1) }
}
