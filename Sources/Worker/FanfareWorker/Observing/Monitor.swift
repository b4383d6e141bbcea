internal import EventLoop
internal import FanfareCore
internal import FanfareMetrics

/// Where a worker's state is published.
struct WorkerWatch {
    let registry: MetricRegistry
    let status: WorkerStatus
    let notifier: ServiceNotifier?
}

/// Publishes the worker's state from its own loop, four times a second: to gauges, probes and the service manager. A loop
/// that hangs publishes nothing.
final class Monitor {
    private let loop: EventLoop
    private let watch: WorkerWatch
    private let redisConnected: GaugeCell
    private let reconnects: CounterCell
    private let turnTime: GaugeCell
    private var longestTurns: (earlier: UInt64, now: UInt64) = (0, 0)
    private var nextWindow: UInt64 = 0
    private var reports: ServiceReports
    private var turnEnd: TurnEndID?

    var snapshot: () -> WorkerStatus.Snapshot = { WorkerStatus.Snapshot() }

    private static let updateMs: Int64 = 250
    /// The gauge shows the longest turn of this window and of the one before.
    private static let windowNs: UInt64 = 30_000_000_000

    init(loop: EventLoop, watch: WorkerWatch) {
        self.loop = loop
        self.watch = watch
        reports = ServiceReports(watchdogNs: watch.notifier?.watchdogNs)
        redisConnected = watch.registry.gauge(MetricCatalogue.redisConnected)
        reconnects = watch.registry.counter(MetricCatalogue.redisReconnects)
        turnTime = watch.registry.gauge(MetricCatalogue.loopTurn)
    }

    /// Measures whole turns. Called after other hooks of the turn's end were added.
    func measureTurns() {
        if let turnEnd { loop.removeTurnEnd(turnEnd) }
        turnEnd = loop.onTurnEnd { [weak self] in
            guard let self else { return }
            let (clock, begin) = (SystemClock.bootNs, loop.now)
            // In virtual time the loop may be ahead of the clock.
            longestTurns.now = max(longestTurns.now, clock - min(clock, begin))
        }
    }

    func start() {
        measureTurns()
        update()
        loop.every(milliseconds: Self.updateMs) { [weak self] in self?.update() }
    }

    func reconnected() { reconnects.add() }

    /// Publishes a change that must not wait for the next update: an idle worker's drain is over before it.
    func updateNow() { publish(snapshot()) }

    private func update() {
        let now = loop.now
        watch.status.turned(at: SystemClock.bootNs)
        if now >= nextWindow {
            longestTurns = (longestTurns.now, 0)
            nextWindow = now + Self.windowNs
        }
        turnTime.set(Double(max(longestTurns.earlier, longestTurns.now)) / 1e9)
        let snapshot = snapshot()
        redisConnected.set(snapshot.isConnected)
        publish(snapshot)
    }

    private func publish(_ snapshot: WorkerStatus.Snapshot) {
        watch.status.update(snapshot)
        guard let notifier = watch.notifier else { return }
        let sentence = Self.sentence(snapshot)
        let due = reports.next(isReady: snapshot.isReady, isDraining: snapshot.isDraining, now: loop.now)
        for report in due {
            switch report {
            case .alive: notifier.alive()
            case .extendTimeout(let milliseconds): notifier.extend(milliseconds: milliseconds, status: sentence)
            case .ready: notifier.ready(status: sentence)
            case .status: notifier.status(sentence)
            case .stopping: notifier.stopping(status: sentence)
            }
        }
    }

    static func sentence(_ snapshot: WorkerStatus.Snapshot) -> String {
        if snapshot.isDraining { return "draining" }
        guard snapshot.isConnected else { return "Redis: \(snapshot.redis)" }
        let projects = snapshot.projects.prefix(8).map { "\($0.id) \($0.state)" }.joined(separator: ", ")
        return projects + (snapshot.projects.count > 8 ? ", and \(snapshot.projects.count - 8) more" : "")
    }
}
