internal import EventLoop
internal import FanfareMetrics

/// Those who watch a worker.
struct WorkerWatch {
    let registry: MetricRegistry
    let status: WorkerStatus
    let notifier: ServiceNotifier?
}

/// Looks at the worker from its own loop, and tells those who watch it: gauges, probes, the service manager. That it does
/// so is itself the sign of life: a loop that hangs tells nobody anything.
final class Monitor {
    private let loop: EventLoop
    private let status: WorkerStatus
    private let notifier: ServiceNotifier?
    private let redisConnected: GaugeCell
    private let reconnects: CounterCell
    private let turnTime: GaugeCell
    private var longestTurns: (earlier: UInt64, now: UInt64) = (0, 0)
    private var nextWindow: UInt64 = 0
    private var nextSignOfLife: UInt64 = 0
    private var nextStatus: UInt64 = 0
    private var wasReady = false
    private var saidStopping = false

    /// What is so now; asked for with every look.
    var snapshot: () -> WorkerStatus.Snapshot = { WorkerStatus.Snapshot() }

    private static let lookMs: Int64 = 250
    /// Half of the time for which a long turn is shown at least.
    private static let windowNs: UInt64 = 30_000_000_000
    private static let statusNs: UInt64 = 10_000_000_000

    init(loop: EventLoop, registry: MetricRegistry, status: WorkerStatus, notifier: ServiceNotifier?) {
        self.loop = loop
        self.status = status
        self.notifier = notifier
        redisConnected = registry.gauge(MetricCatalogue.redisConnected)
        reconnects = registry.counter(MetricCatalogue.redisReconnects)
        turnTime = registry.gauge(MetricCatalogue.loopTurn)
    }

    /// The last of all hooks of the turn's end is to be this one, so that it sees the whole turn.
    func start() {
        loop.onTurnEnd { [weak self] in
            guard let self else { return }
            let length = EventLoop.readClock() - loop.now
            if length > longestTurns.now { longestTurns.now = length }
        }
        look()
    }

    func reconnected() { reconnects.add() }

    /// Something has changed that is not to wait for the next look: an idle worker's drain is over before it.
    func lookNow() {
        let snapshot = snapshot()
        status.update(snapshot)
        if let notifier { tell(notifier, snapshot, loop.now) }
    }

    private func look() {
        let now = loop.now
        status.turned(at: EventLoop.readClock())
        if now >= nextWindow {
            longestTurns = (longestTurns.now, 0)
            nextWindow = now + Self.windowNs
        }
        turnTime.set(Double(max(longestTurns.earlier, longestTurns.now)) / 1e9)
        let snapshot = snapshot()
        redisConnected.set(snapshot.isConnected)
        status.update(snapshot)
        if let notifier { tell(notifier, snapshot, now) }
        loop.schedule(afterMilliseconds: Self.lookMs) { [weak self] in self?.look() }
    }

    private func tell(_ notifier: ServiceNotifier, _ snapshot: WorkerStatus.Snapshot, _ now: UInt64) {
        if let interval = notifier.watchdogNs, now >= nextSignOfLife {
            // Half of it, as the manager's own documentation advises.
            nextSignOfLife = now + interval / 2
            notifier.alive()
        }
        if snapshot.isDraining, !saidStopping {
            saidStopping = true
            return notifier.stopping(status: Self.sentence(snapshot))
        }
        if snapshot.isReady, !wasReady {
            wasReady = true
            nextStatus = now + Self.statusNs
            return notifier.ready(status: Self.sentence(snapshot))
        }
        guard now >= nextStatus else { return }
        nextStatus = now + Self.statusNs
        if wasReady || saidStopping {
            notifier.status(Self.sentence(snapshot))
        } else {
            // Waiting for Redis is no failure to start: killed for it, the process would only begin to wait anew.
            notifier.extend(milliseconds: 3 * Int64(Self.statusNs / 1_000_000), status: Self.sentence(snapshot))
        }
    }

    static func sentence(_ snapshot: WorkerStatus.Snapshot) -> String {
        if snapshot.isDraining { return "draining" }
        guard snapshot.isConnected else { return "Redis: \(snapshot.redis)" }
        let projects = snapshot.projects.prefix(8).map { "\($0.id) \($0.state)" }.joined(separator: ", ")
        return projects + (snapshot.projects.count > 8 ? ", and \(snapshot.projects.count - 8) more" : "")
    }
}
