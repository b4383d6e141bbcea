internal import FanfareClient
internal import FanfareMetrics
internal import StreamWire

/// The gauges of the fleet for Prometheus, under the names and with the labels that each worker exposes. A project that
/// Redis cannot read is left out.
enum FleetExposition {
    static var contentType: String { PrometheusText.contentType }

    static func text(_ snapshot: FleetSnapshot) -> String {
        let registry = MetricRegistry()
        for project in snapshot.projects where project.fault == nil { add(project, to: registry) }
        return PrometheusText.render(registry)
    }

    private static func add(_ project: ProjectSnapshot, to registry: MetricRegistry) {
        let state = project.overview
        let values: [(Metric, Double)] = [
            (MetricCatalogue.recipientsWaiting, Double(project.recipientsWaiting)),
            (MetricCatalogue.recipientsRetrying, Double(state.retrying)),
            (MetricCatalogue.entriesWaiting, Double(state.entries)),
            (MetricCatalogue.oldestWait, Double(project.oldestWaitMs) / 1_000),
            (MetricCatalogue.drain, Double(state.holdMs) / 1_000 + (project.drainSeconds ?? 0)),
            (MetricCatalogue.fanoutsWaiting, Double(state.waitingFanouts)),
            (MetricCatalogue.fanoutActive, Double(state.active.count)),
            (MetricCatalogue.fanoutEpoch, Double(state.epoch) ?? 0),
            (MetricCatalogue.cooldown, Double(state.holdMs) / 1_000),
            (MetricCatalogue.permits, project.permits),
            (MetricCatalogue.permitRate, state.permitsPerSecond),
            (MetricCatalogue.quota, Double(state.quotaPerMinute)),
            (MetricCatalogue.deadJobs, Double(project.dead)),
            (MetricCatalogue.jobsOpen, Double(state.open)),
            (MetricCatalogue.jobsParked, Double(state.parked)),
            (MetricCatalogue.jobsScheduled, Double(state.scheduled)),
            (MetricCatalogue.resultsUnread, Double(project.unreadResults ?? 0)),
            (MetricCatalogue.paused, state.isPaused ? 1 : 0),
            (MetricCatalogue.unreachable, state.isUnreachable ? 1 : 0),
            (MetricCatalogue.blocked, state.blockReason.isEmpty ? 0 : 1),
            // Not the leases in Redis: a lease of a worker that died stays until another worker sees it.
            (MetricCatalogue.workersAlive, Double(project.workersAlive)),
        ]
        for (metric, value) in values { registry.gauge(metric, project.id).set(value) }
        let stopped = [
            ("stop_if", state.resting.stoppedByCondition), ("message", state.resting.stoppedByMessage),
            ("canary", state.resting.atCanary),
        ]
        for (name, count) in stopped {
            registry.gauge(MetricCatalogue.jobsStopped, project.id, name).set(Double(count))
        }
        for kind in MetricCatalogue.pressure.labels.last?.values ?? [] {
            registry.gauge(MetricCatalogue.pressure, project.id, kind).set(kind == state.pressure ? 1 : 0)
        }
    }
}
